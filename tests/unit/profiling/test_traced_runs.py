"""What traced runs see of programs that run other code elsewhere than where they are traced."""

import os
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.config.groups.output import Output
from trimtab.config.groups.workload import Marks, Workload
from trimtab.profiling.profile import trace_workload
from trimtab.records.usage import Usage

FUNCTIONS = (
    "one_cpu", "many_cpus", "one_thread", "many_threads", "cold", "warm", "buffered", "unbuffered",
)  # fmt: skip
# Every function of the library has its circumstance.
CHOOSES = """
import ctypes, os, pathlib, sys
mine = ctypes.CDLL(sys.argv[1])
mine["one_cpu" if len(os.sched_getaffinity(0)) == 1 else "many_cpus"]()
mine["one_thread" if os.environ.get("OMP_NUM_THREADS") == "1" else "many_threads"]()
mine["unbuffered" if sys.stdout.write_through else "buffered"]()
compiled = pathlib.Path(os.environ.get("TRITON_CACHE_DIR", sys.argv[2])) / "compiled"
mine["warm" if compiled.exists() else "cold"]()
compiled.touch()
print("always the same")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library in which nothing but what is called by name runs."""
    folder = tmp_path_factory.mktemp("library")
    bodies = "".join(f"int {name}(void) {{ return {len(name)}; }}\n" for name in FUNCTIONS)
    (folder / "mine.c").write_text(bodies)
    path = folder / "libmine.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, folder / "mine.c"], check=True)
    return path


def workload(folder: Path, code: str, *arguments: object, **changes: object) -> Workload:
    (folder / "program.py").write_text(code)
    given: dict[str, object] = {
        "name": "mine",
        "python": sys.executable,
        "command": ["python", str(folder / "program.py"), *map(str, arguments)],
        "workdir": str(folder),
        **changes,
    }
    return Workload(**given)  # type: ignore[arg-type]


def used(usage: Usage, library: Path) -> set[str]:
    """The functions of `library` that ran, named by `nm`."""
    listing = subprocess.run(
        ["nm", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    names = {int(address, 16): name for address, _, name in map(str.split, listing.splitlines())}
    (found,) = (each for each in usage.libraries if each.path == str(library))
    return {names[address] for address in found.used_functions if address in names}


def test_three_runs_see_what_hangs_on_the_surroundings(library: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.mkdir()
    program = workload(tmp_path, CHOOSES, library, users)
    usage = trace_workload(program, tmp_path / "trace", 3)
    assert usage.complete, usage.incomplete_because
    assert used(usage, library) >= set(FUNCTIONS) - {"many_cpus"}
    assert "many_cpus" in used(usage, library) or os.cpu_count() == 1
    assert not (tmp_path / "trace/caches").exists()
    (tmp_path / "second").mkdir()
    program = workload(tmp_path, CHOOSES, library, tmp_path / "second")
    alone = trace_workload(program, tmp_path / "alone", traced_runs=1)
    assert used(alone, library) < used(usage, library)


def test_a_workload_decides_for_itself(library: Path, tmp_path: Path) -> None:
    """With its own number of threads and its own cache in every run."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "compiled").touch()
    env = {"OMP_NUM_THREADS": "1", "TRITON_CACHE_DIR": str(own)}
    usage = trace_workload(
        workload(tmp_path, CHOOSES, library, own, env=env), tmp_path / "trace", 3
    )
    assert not used(usage, library) & {"many_threads", "cold"}


@pytest.mark.parametrize(
    ("body", "complete"),
    [
        ("print(len(os.sched_getaffinity(0)))", True),  # another output on another machine
        ("print('LD_AUDIT' in os.environ and len(os.sched_getaffinity(0)) == 1)", False),
        ("print('LD_AUDIT' in os.environ)", False),
    ],
)
def test_an_output_that_the_condition_changes_is_no_fault_of_the_tracer(
    tmp_path: Path, body: str, complete: bool
) -> None:
    usage = trace_workload(workload(tmp_path, f"import os\n{body}\n"), tmp_path / "trace", 2)
    assert usage.complete == complete
    assert all("output of the traced run differs" in each for each in usage.incomplete_because)


def test_a_program_that_cannot_do_with_one_cpu(library: Path, tmp_path: Path) -> None:
    """What it ran until then counts, and what follows says so."""
    code = (
        "import ctypes, os, sys\nmine = ctypes.CDLL(sys.argv[1])\nmine.one_thread()\n"
        "if 'TRIMTAB_PADDING' in os.environ:\n"
        "    mine.one_cpu()\n    os.kill(os.getpid(), 9)\n"
    )
    usage = trace_workload(workload(tmp_path, code, library), tmp_path / "trace", traced_runs=2)
    assert usage.complete, usage.incomplete_because
    (note,) = usage.notes
    assert "CPUs: 1, threads: 1: " in note and "signal 9" in note
    assert used(usage, library) == {"one_thread", "one_cpu"}
    # How the first run ends is how the program ends.
    ends_with_3 = replace(workload(tmp_path, "raise SystemExit(3)"), ends_with="3")
    assert trace_workload(ends_with_3, tmp_path / "trace", traced_runs=2).complete


def test_a_varied_run_that_does_not_write_its_output(tmp_path: Path) -> None:
    code = "import os\nif 'TRIMTAB_PADDING' not in os.environ: open('made', 'w').write('1')\n"
    program = workload(tmp_path, code, output=Output("digest_file", "made"))
    usage = trace_workload(program, tmp_path / "trace", traced_runs=2)
    assert "left this file as it was" in usage.notes[0]


def test_marks_do_not_make_every_traced_run_unbuffered(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    program = workload(tmp_path, CHOOSES, library, tmp_path, marks=Marks(epoch="^always"))
    usage = trace_workload(program, tmp_path / "trace", traced_runs=2)
    assert used(usage, library) >= {"buffered", "unbuffered"}


TYPE = r"""
#include <Python.h>
typedef struct { PyObject_HEAD PyObject *held; } Kept;
static int visited(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(((Kept *)self)->held); return 0;
}
static int cleared(PyObject *self) { Py_CLEAR(((Kept *)self)->held); return 0; }
static void gone(PyObject *self) {
  PyObject_GC_UnTrack(self); cleared(self); Py_TYPE(self)->tp_free(self);
}
static PyObject *hold(PyObject *self, PyObject *held) {
  Py_XSETREF(((Kept *)self)->held, Py_NewRef(held)); Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"hold", hold, METH_O, NULL}, {0}};
static PyTypeObject type = {
  PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "kept.Kept", .tp_basicsize = sizeof(Kept),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = PyType_GenericNew,
  .tp_dealloc = gone, .tp_traverse = visited, .tp_clear = cleared, .tp_methods = methods};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kept", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_kept(void) {
  PyObject *module = PyModule_Create(&definition);
  return PyModule_AddType(module, &type) ? NULL : module;
}
"""
INCLUDE = Path(sysconfig.get_paths()["include"])


@pytest.mark.skipif(not (INCLUDE / "Python.h").is_file(), reason="Python.h is missing")
def test_one_run_has_an_eager_collector(tmp_path: Path) -> None:
    """A collection comes between any two allocations; the user's own hook and path are as ever."""
    (tmp_path / "kept.c").write_text(TYPE)
    module = tmp_path / "kept.so"
    command = ["gcc", "-O1", f"-I{INCLUDE}", "-shared", "-fPIC", "-o", module, tmp_path / "kept.c"]
    subprocess.run(command, check=True)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text("users_hook = 3\n")
    code = (
        "import gc, sys, sitecustomize, kept\ngc.collect()\nshort = kept.Kept()\n"
        "more = [[], [], []]\ndel short\nprint(sitecustomize.users_hook, sys.path)\n"
    )
    env = {"PYTHONPATH": str(hooks)}
    seen = []
    for count in (1, 2):
        program = workload(tmp_path, code, env=env)
        usage = trace_workload(program, tmp_path / f"trace-{count}", traced_runs=count)
        assert usage.complete, usage.incomplete_because
        seen.append(used(usage, module) & {"visited", "gone"})
    assert seen == [{"gone"}, {"visited", "gone"}]


def test_numpy_on_other_numbers_of_cpus_and_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a product of matrices runs on one CPU and on two is in what three traced runs saw."""
    pytest.importorskip("numpy")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    code = "import numpy\na = numpy.ones((200, 200))\nprint((a @ a).sum())\n"
    traced = functions_of(trace_workload(workload(tmp_path, code), tmp_path / "three", 3))
    allowed = os.sched_getaffinity(0)
    seen = []
    for cpus, threads in ((1, {}), (2, {}), (1, {"OMP_NUM_THREADS": "2"}), (2, {THREADS: "1"})):
        os.sched_setaffinity(0, sorted(allowed)[:cpus])
        try:
            other = trace_workload(workload(tmp_path, code, env=threads), tmp_path / "other", 1)
        finally:
            os.sched_setaffinity(0, allowed)
        seen.append({each for each in functions_of(other) if "numpy" in each[0]})
        assert len(seen[-1]) > 300
        assert seen[-1] <= traced, (cpus, threads)
    assert len(allowed) == 1 or seen[1] - seen[0]  # which a run on one CPU would miss


THREADS = "OPENBLAS_NUM_THREADS"


def functions_of(usage: Usage) -> set[tuple[str, int]]:
    return {(each.path, address) for each in usage.libraries for address in each.used_functions}
