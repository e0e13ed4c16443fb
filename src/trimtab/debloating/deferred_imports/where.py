import sys, subprocess, re, marshal, json, collections, os, glob
prog, plan, rec = sys.argv[1:4]
best = {}
for _ in range(3):
    err = subprocess.run(["/work/main/.venv/bin/python", "-X", "importtime", prog], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True).stderr
    for l in err.splitlines():
        m = re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", l)
        if m: best[m[2]] = min(best.get(m[2], 10**9), int(m[1]))
D = marshal.load(open(plan, "rb"))[0]
needed = set(json.load(open(plan.replace(".plan", ".needed"))))
r = json.load(open(glob.glob(rec + "/*.json")[0])); by = {}
for x in r: by.setdefault(x["name"], x)["effects"] = by.get(x["name"], x)["effects"] + x["effects"]
need = set(json.load(open("need.json")))
cat, unneeded, what = collections.Counter(), collections.Counter(), collections.defaultdict(list)
for n, t in best.items():
    x = by.get(n)
    k = "lazy" if n in D else "needed (ran late)" if n in needed else "other" if x is None else "extension" if not x["file"].endswith(".py") else "effects" if x["effects"] else "static rule or cycle"
    cat[k] += t / 1e3; what[k].append((t, n))
    if n not in need: unneeded[k] += t / 1e3
for k, t in cat.most_common(): print(f"{k}: {t:.0f} ms in {len(what[k])}, of it nothing needs {unneeded[k]:.0f}; top", [(n, t // 1000) for t, n in sorted(what[k])[:-9:-1]])
