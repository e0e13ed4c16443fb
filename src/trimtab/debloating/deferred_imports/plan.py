"""plan.py RECORD OUT TIER NEEDED..: write plan: {name: (obligations, firsts)}, and rewritten codes."""
import sys, json, glob, marshal, os
sys.path.insert(0, "/tmp/h8/trial/src")
import importlib.util as iu
def load(n):
    s = iu.spec_from_file_location(n, f"/tmp/h8/trial/src/trimtab/debloating/deferred_imports/{n}.py"); m = iu.module_from_spec(s); s.loader.exec_module(m); return m
rewriting = load("rewriting")
rec, out, tier = sys.argv[1], sys.argv[2], int(sys.argv[3])
needed = set(json.load(open(sys.argv[4]))) if len(sys.argv) > 4 else set()
r = json.load(open(glob.glob(rec + "/*.json")[0]))
by = {}
for x in r:
    y = by.setdefault(x["name"], x)
    if y is not x: y["effects"] += x["effects"]; y["imports"] += x["imports"]
tops_sub = set()
READS = {"argv", "stdin", "stdout", "stderr", "now", "today", "utcnow", "getpid", "urandom", "getcwd", "meta_path", "path_hooks", "settrace", "modules", "isatty", "cpu_count", "gethostname"}
text = {}
for n, x in by.items():
    if x["file"].endswith(".py"):
        t = text[n] = open(x["file"], "rb").read()
        if b"__subclasses__" in t: tops_sub.add(n.partition(".")[0])
def import_names(code):
    names = set(code.co_names)
    for c in code.co_consts:
        if hasattr(c, "co_name") and not c.co_flags & 2 and c.co_name not in ("<lambda>",): names |= import_names(c)   # CO_NEWLOCALS: functions; class bodies lack it
    return names
why = {}
def pure(n):
    x = by.get(n)
    if x is None: return False
    if not x["file"].endswith(".py"): 
        why[n] = "ext"; return False
    if x["effects"] or x["failed"]: why[n] = x["effects"]; return False
    if set(x["bases"]) & tops_sub - {"builtins"}: why[n] = f"subclasses {set(x['bases']) & tops_sub}"; return False
    got = import_names(compile(text[n], n, "exec", dont_inherit=True)) & READS
    if got: why[n] = f"reads {got}"; return False
    return True
P = {n for n in by if pure(n)}
EXT = os.environ.get("EXT")  # extension modules without effects come with their importer
D = P - needed
free = set()
for n, x in by.items():
    if not x["file"].endswith(".py") and not x["effects"]:
        b = open(x["file"], "rb").read()
        if b"__pyx" in b or b"f2py" in b: free.add(n)
cache = {}
# strongly connected by imports: reach test within `within`
edges = {n: {f for names, _ in x["imports"] for f in names if f in by} | ({n.rpartition(".")[0]} & by.keys()) for n, x in by.items()}
import networkx as nx
g = nx.DiGraph(); g.add_nodes_from(by); g.add_edges_from((a, b) for a in edges for b in edges[a])
comp = {n: i for i, c in enumerate(nx.strongly_connected_components(g)) for n in c}
import collections as _c
size = _c.Counter(comp.values())
free = {n for n in free if size[comp[n]] == 1} if EXT else set()
def trim():
    while True:
        gone = {w for n in by if n not in D and n not in free for w in by[n]["within"] if w in D and comp.get(w) == comp[n]}
        if not gone: return
        D.difference_update(gone)
trim()
children = {}
for n, x in by.items():
    if x["within"]: children.setdefault(x["within"][-1], []).append(n)
def obligations(n, seen):
    out = []
    for c in children.get(n, ()):
        if c in D: out += obligations(c, seen)
        elif EXT and c in free: pass
        else: out.append(c)
    return out
plan = {}
for n in D:
    plan[n] = (tuple(obligations(n, {n})), tuple(w for w in by[n]["within"] if w in D and comp.get(w) == comp[n] and w != n))
def resolver(n, is_pkg):
    package = n if is_pkg else n.rpartition(".")[0]
    def is_lazy(st):
        full = iu.resolve_name("." * st.level + (st.module or ""), package) if st.level else st.module
        return full in by and by[full]["file"].endswith(".py") and n != full
    return is_lazy
codes = {}
for n, x in by.items():
    if n in text and "__main__" != n and tier > 1:
        c = rewriting.rewrite(text[n], x["file"], resolver(n, x["file"].endswith("__init__.py")), tier > 2)
        if c is not None: codes[n] = marshal.dumps(c)
marshal.dump((plan, codes), open(out, "wb"))
print(f"{rec}: modules {len(by)}, python {len(text)}, pure {len(P)}, lazy {len(D)}, rewritten {len(codes)}, ext {len(by)-len(text)} free {len(free)}")
import collections
if os.environ.get("WHY"):
    for n, w in why.items():
        if w != "ext": print("  ", n, w)
