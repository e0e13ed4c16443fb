import json,glob,sys,collections
r=json.load(open(glob.glob(sys.argv[1]+"/*.json")[0]))
print(len(r), "python", sum(x["file"].endswith(".py") for x in r), "with effects", sum(bool(x["effects"]) for x in r if x["file"].endswith(".py")))
c=collections.Counter(e for x in r if x["file"].endswith(".py") for e in x["effects"])
for e,n in c.most_common(40): print(n,e)
