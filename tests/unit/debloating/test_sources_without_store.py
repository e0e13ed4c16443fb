"""A source that no store has: Python goes on by its byte code, and shows a traceback without it."""

import py_compile
import shutil
import sys
from pathlib import Path

import pytest
from returning import forbid_writing, make_slim, missed, run, without_privileges

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import Source

MODULES = {"broken": "def fail():\n    raise ValueError('of the program')\n", "plain": "x = 1\n"}
FAIL = "import sys; sys.path.insert(0, 'app'); import broken; broken.fail()"
IMPORT = "import sys; sys.path.insert(0, 'app'); import broken, plain; print(plain.x)"


@pytest.fixture
def original(tmp_path: Path) -> Path:
    app = tmp_path / "original/app"
    app.mkdir(parents=True)
    for name, text in MODULES.items():
        (app / f"{name}.py").write_text(text)
        py_compile.compile(str(app / f"{name}.py"), doraise=True)
    return app.parent


def slim_of(original: Path, *more: str) -> Path:
    """Return an environment without sources, nor what is in `more`; its store is beside it."""
    removed = [f"/app/{name}.py" for name in MODULES] + list(more)
    source = Source(Fallback.STORE, original.parent / "store")
    return make_slim(original, original.parent / "slim", removed, source)


def python(slim: Path, code: str, status: int) -> tuple[str, str]:
    done = run(slim, sys.executable, "-I", "-c", code, cwd=slim, status=status)
    return done.stdout, done.stderr


def test_a_traceback_has_no_lines_of_it(original: Path) -> None:
    slim = slim_of(original)
    shutil.rmtree(original.parent / "store")
    for _ in range(2):  # the next process finds the module again
        errors = python(slim, FAIL, 1)[1]
        assert "in fail\nValueError: of the program\n" in errors and "trimtab" not in errors
        assert python(slim, IMPORT, 0) == ("1\n", "")
    assert missed(slim) == ["app/broken.py"]
    assert not list((slim / "trimtab").glob(".partial*"))
    look = "import os; print(os.path.exists('app/broken.py'), sorted(os.listdir('app')))"
    assert python(slim, look, 0)[0] == "True ['__pycache__', 'broken.py', 'plain.py']\n"
    code = "open('app/broken.py')"
    assert "FileNotFoundError" in python(slim, code, 1)[1]


def test_a_traceback_has_its_lines_with_the_store(original: Path) -> None:
    assert "raise ValueError('of the program')" in python(slim_of(original), FAIL, 1)[1]


def test_without_byte_code_the_program_ends(original: Path) -> None:
    gone = [f"/{path.relative_to(original)}" for path in original.rglob("broken.*.pyc")]
    slim = slim_of(original, *gone)
    shutil.rmtree(original.parent / "store")
    assert f"{gone[0][1:]}: was removed" in python(slim, FAIL, 70)[1]


@pytest.mark.parametrize("mode", [0o777, 0o555])
def test_where_nothing_may_be_written(original: Path, tmp_path: Path, mode: int) -> None:
    slim = slim_of(original)
    shutil.rmtree(original.parent / "store")
    forbid_writing(slim)
    (tmp_path / "cache").mkdir(mode)
    variables = {"TRIMTAB_STORE_CACHE": str(tmp_path / "cache")}
    for _ in range(2):
        done = run(slim, sys.executable, "-I", "-c", FAIL, cwd=slim, variables=variables, status=1,
                   preexec_fn=without_privileges)  # fmt: skip
        assert done.stderr.endswith("in fail\nValueError: of the program\n")
    assert not list(tmp_path.glob("cache/*/app/*.py"))


def test_strict_ends_it(original: Path) -> None:
    slim = slim_of(original)
    strict = {"TRIMTAB_FALLBACK": "strict"}
    done = run(slim, sys.executable, "-I", "-c", FAIL, cwd=slim, variables=strict, status=70)
    assert "app/broken.py was removed" in done.stderr
