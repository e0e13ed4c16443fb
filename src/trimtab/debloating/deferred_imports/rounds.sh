# rounds.sh NAME TIER SUFFIX
n=$1; t=$2; s=$3
rm -f $n$s.needed; echo '[]' > $n$s.needed
for i in 1 2 3 4; do
/work/main/.venv/bin/python plan.py rec/$n $n$s.plan $t $n$s.needed
rm -f $n.ran; H8_RAN=$n.ran H8_PLAN=$n$s.plan PYTHONPATH=lazy timeout 100 /work/main/.venv/bin/python $n.py || break
python3 -c "
import json,sys
a=json.load(open('$n.ran')); b=set(json.load(open('$n$s.needed')))
print('late', len(a)); json.dump(sorted(b|set(a)), open('$n$s.needed','w'))
sys.exit(not a)" || break
done
