"""The record of imports, in every Python that is found here: what ran, and that nobody notices."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.profiling.imports.attribution import ImportedModule, imports_of
from trimtab.profiling.imports.reading import ProcessRecord, read_records
from trimtab.profiling.imports.recording import install_hook, recorded

MINORS = (8, 9, 10, 11, 12, 13)
FILES = {
    "pkg/__init__.py": """
from pkg import used, constants
import pkg.unused
from . import first
try:
    import no_such_module
except ImportError:
    pass
""",
    "pkg/used.py": """
from pkg.constants import LIMIT as limit, IDLE
def helper(): return 1
def called(): return limit
class Thing:
    def method(self): return helper()
    def idle(self): return IDLE
ONE = helper()
""",
    "pkg/unused.py": """
def decorator(function): return function
@decorator
def never(): return 1
class Early:
    def __init__(self): self.value = [helper() for _ in range(20)]
def helper(): return 1
""",
    "pkg/constants.py": "LIMIT = 3\nIDLE = 4\n",
    "pkg/first.py": "from pkg import second\ndef idle(): return second\n",
    "pkg/second.py": "from pkg import first\ndef called(): return first.__name__\n",
    "pkg/sub/__init__.py": "",
    "pkg/sub/deep.py": "def idle(): return 1\n",
    "pkg/lazy.py": "def called(): return 5\n",
    "ns/inside.py": "def called(): return 6\n",
    "broken.py": "def fail(): return 1 / 0\nfail()\n",
    "program.py": """
import sys
import pkg, pkg.sub.deep, ns.inside, _json
def load():
    from pkg.lazy import called
    return called()
print(pkg.used.called(), pkg.used.Thing().method(), pkg.second.called(), load(), ns.inside.called())
print(sorted(sys.modules), [place for place in sys.path if "trimtab" in place])
""",
}
USES = {
    "pkg": "none",
    "pkg.used": "ran",
    "pkg.unused": "none",
    "pkg.constants": "read",
    "pkg.first": "read",  # by a function of pkg.second
    "pkg.second": "ran",
    "pkg.sub": "none",
    "pkg.sub.deep": "none",
    "pkg.lazy": "ran",
    "ns": "unknown",
    "ns.inside": "ran",
    "no_such_module": "unknown",
    "_json": "unknown",
}


def python_of(minor: int) -> str:
    """The interpreter of a version, of pyenv or of the system."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(root.glob(f"versions/3.{minor}.*/bin/python3.{minor}"))
    if found:
        return str(found[-1])
    there = shutil.which(f"python3.{minor}")
    if there is None or subprocess.run([there, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"python3.{minor} is missing: `pyenv install 3.{minor}`")
    return there


@pytest.fixture(params=MINORS, ids=lambda minor: f"3.{minor}")
def python(request: pytest.FixtureRequest) -> str:
    return python_of(request.param)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # else the second run would differ
    return tmp_path


def run(command: Sequence[str]) -> tuple[int, list[ProcessRecord]]:
    with recorded(command) as outcome:
        return outcome.exit_code, read_records(outcome.records)


def modules_of(records: list[ProcessRecord]) -> dict[str, ImportedModule]:
    return {module.name: module for module in imports_of(records).modules}


def plainly(command: Sequence[str]) -> tuple[int, str, str]:
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_what_ran_after_its_import_is_known(python: str, place: Path) -> None:
    code, records = run([python, "program.py"])
    assert code == 0
    [record] = records
    assert record.has_end and record.method != "profile"
    modules = modules_of(records)
    assert {name: modules[name].use for name in USES} == USES
    assert (modules["ns"].kind, modules["no_such_module"].kind) == ("namespace", "failed")
    assert modules["_json"].kind in ("native", "built_in")
    assert modules["pkg.used"].functions_ran == 3  # called, method, and helper by method
    assert "pkg" not in modules["pkg.lazy"].importers
    assert modules["pkg.unused"].importers.keys() == {"pkg"}
    assert modules["pkg.lazy"].importers.keys() == {"__main__"}
    for module in modules.values():
        assert 0 <= module.own_s <= module.total_s
    top_s = sum(event.total_s for event in record.imports if event.above == -1)
    assert sum(module.own_s for module in modules.values()) <= top_s * 1.0001


def test_names_that_code_read_are_told_from_others(python: str, place: Path) -> None:
    _, records = run([python, "program.py"])
    taken = {
        (each.name, each.importer): each.read
        for each in imports_of(records).names
        if each.module == "pkg.constants" and each.name
    }
    assert taken == {("LIMIT", "pkg.used"): True, ("IDLE", "pkg.used"): False}


@pytest.mark.parametrize(
    "program",
    [
        ["program.py"],
        ["-c", "import importlib; importlib.import_module('broken')"],
        ["-c", "import broken"],
        ["-c", "import importlib; importlib.import_module('missing.part')"],
        ["-c", "import sys; print(sys.argv, sys.flags, sys.dont_write_bytecode); sys.exit(7)", "a"],
        ["-c", "import os; os._exit(3)"],
        ["-c", "import os; os.kill(os.getpid(), 15)"],
        ["-c", "import os; print(open(os.devnull).fileno(), 'sitecustomize' in os.environ)"],
        ["-m", "pkg.lazy"],
    ],
    ids=" ".join,
)
def test_the_program_does_what_it_did(python: str, place: Path, program: list[str]) -> None:
    """Output, errors with their tracebacks, exit code, and the numbers of descriptors."""
    hook = place / "hook"
    install_hook(hook)
    (place / "records").mkdir()
    before = plainly([python, *program])
    settings = {"PYTHONPATH": str(hook), "TRIMTAB_IMPORTS": str(place / "records")}
    after = subprocess.run(
        [python, *program], env={**os.environ, **settings}, capture_output=True, text=True
    )
    assert (after.returncode, after.stderr) == (before[0], before[2])
    assert after.stdout.replace(" 'atexit',", "") == before[1].replace(" 'atexit',", "")
    assert len(list((place / "records").iterdir())) == 1


def test_an_own_sitecustomize_runs_as_ever(python: str, place: Path) -> None:
    (place / "own").mkdir()
    (place / "own/sitecustomize.py").write_text("import pkg.lazy\nprint(__name__, __file__)\n")
    show = "import sys; print(sys.modules['sitecustomize'].__file__)"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{place / 'own'}:{place}")
        before = plainly([python, "-c", show])
        trimtab = "from trimtab.profiling.imports.recording import recorded; import sys\n"
        trimtab += "with recorded(sys.argv[1:]): pass"
        with pytest.MonkeyPatch.context() as inner:
            source = str(Path(sys.modules["trimtab"].__path__[0]).parent)
            inner.setenv("PYTHONPATH", f"{place / 'own'}:{place}:{source}")
            done = plainly([sys.executable, "-c", trimtab, python, "-c", show])
    assert before[0] == 0 and before[1] in done[1], done[2]


def test_processes_have_records_of_their_own(place: Path) -> None:
    """A forked one shares what was imported before; an executed one imports for itself."""
    (place / "forks.py").write_text(
        """
import os, sys, pkg
if os.fork() == 0:
    pkg.used.called()
    os._exit(0)
os.wait()
if os.fork() == 0:
    os.execv(sys.executable, [sys.executable, "-c", "import pkg.lazy as lazy; lazy.called()"])
os.wait()
"""
    )
    code, records = run([sys.executable, "forks.py"])
    assert code == 0
    first, *others = records
    assert len(records) == 4 and all(record.has_end for record in records)
    assert {record.forked_from for record in others} == {"", first.name}
    modules = modules_of(records)
    assert (modules["pkg.used"].imports, modules["pkg.lazy"].imports) == (2, 1)
    assert modules["pkg.used"].use == modules["pkg.lazy"].use == "ran"
    # In the executed process nothing of pkg.used ran.
    assert 0 < modules["pkg.used"].unused_s < modules["pkg.used"].own_s


def test_of_a_killed_process_it_is_unknown_what_ran(place: Path) -> None:
    command = "import pkg, os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    code, records = run([sys.executable, "-c", command])
    assert code == -signal.SIGKILL
    assert not records[0].has_end
    module = modules_of(records)["pkg.used"]
    assert (module.use, module.functions_ran, module.unused_s) == ("unknown", None, 0.0)


def test_a_lazy_loader_is_not_woken(place: Path) -> None:
    """Its module is imported when it is first used, and has the time of its body then."""
    (place / "lazily.py").write_text(
        """
import importlib.util, sys
def lazy(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
first, second = lazy("pkg.lazy"), lazy("pkg.sub.deep")
first.called()
"""
    )
    _, records = run([sys.executable, "lazily.py"])
    modules = modules_of(records)
    assert modules["pkg.lazy"].use == "ran"
    assert "pkg.sub.deep" not in modules


def test_a_program_that_is_no_python_leaves_no_record(place: Path) -> None:
    assert run(["/bin/sh", "-c", "exit 4"]) == (4, [])
    with pytest.raises(UserError, match=r"no_such_program: .*give a program after --"):
        run(["./no_such_program"])


def test_an_older_python_does_not_notice(place: Path) -> None:
    """A program may start one; an error of the hook would be on its standard error."""
    python = python_of(7)
    before = plainly([python, "-c", "import pkg"])
    hook = place / "hook"
    install_hook(hook)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(hook))
        patch.setenv("TRIMTAB_IMPORTS", str(place))
        assert plainly([python, "-c", "import pkg"]) == before == (0, "", "")


def test_a_program_may_close_all_descriptors(place: Path) -> None:
    command = "import os; os.closerange(3, 5000); import pkg; pkg.used.called()"
    code, records = run([sys.executable, "-c", command])
    assert code == 0 and modules_of(records)["pkg.used"].use == "ran"
