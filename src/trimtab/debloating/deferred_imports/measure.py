import subprocess, sys, os, time, resource, statistics
prog, plans, n = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
env0 = {k: v for k, v in os.environ.items() if not k.startswith("H8")}
res = {p: [] for p in ["", *plans]}
for i in range(n + 1):
    for p in res:
        env = dict(env0, PYTHONPATH="lazy")
        if p: env["H8_PLAN"] = p
        b = resource.getrusage(resource.RUSAGE_CHILDREN); t = time.perf_counter()
        subprocess.run(["/work/main/.venv/bin/python", prog], env=env, stdout=subprocess.DEVNULL, check=True)
        w = time.perf_counter() - t; a = resource.getrusage(resource.RUSAGE_CHILDREN)
        if i: res[p].append((w, a.ru_utime + a.ru_stime - b.ru_utime - b.ru_stime))
for p, v in res.items():
    print(p or "original", "wall %.3f cpu %.3f" % tuple(statistics.median(x) for x in zip(*v)), "ratio wall %.2f cpu %.2f" % tuple(statistics.median(o[k] / x[k] for o, x in zip(res[""], v)) for k in (0, 1)))
