"""CI runs the tests without optional parts, and then, with them, those that were skipped."""

import json
import os
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = {
    "pytest.ini": "[pytest]\n",
    "test_some.py": """
import os, pytest

PARTS = ["a@b", "c"] if "PART" in os.environ else []
needs_part = pytest.mark.skipif("PART" not in os.environ, reason="the part is missing: get it")

def test_always():
    assert "PART" not in os.environ

@needs_part
@pytest.mark.xdist_group("shared")
def test_with_part(): pass

@pytest.mark.xdist_group("shared")
@pytest.mark.parametrize("name", PARTS)
def test_of_each_part(name): pass

def test_never():
    pytest.skip("another machine")

@pytest.mark.xfail
def test_expected_to_fail():
    assert False
""",
    "test_other.py": """
import os

assert "PART" not in os.environ  # it is not imported again

def test_of_another_file(): pass
""",
    "test_file.py": """
import os, pytest

if "PART" not in os.environ:
    pytest.skip("no part at all", allow_module_level=True)

def test_of_the_file(): pass
""",
}


def test_what_was_skipped_is_run_again_and_nothing_else(tmp_path: Path) -> None:
    for name, text in TESTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    first = run(tmp_path, "-n", "1", "--dist", "loadgroup")
    assert "2 passed, 4 skipped, 1 xfailed" in first, first
    why = skipped(tmp_path)
    assert "empty parameter set" in why.pop("test_some.py::test_of_each_part[NOTSET]")
    assert why == {
        "test_some.py::test_with_part": "the part is missing: get it",
        "test_some.py::test_never": "another machine",
        "test_file.py": "no part at all",
    }
    second = run(tmp_path, "-n", "1", "--dist", "loadgroup", "--skipped-before", PART="there")
    assert "4 passed, 1 skipped in" in second, second
    assert skipped(tmp_path) == {"test_some.py::test_never": "another machine"}


def run(folder: Path, *options: str, **environment: str) -> str:
    command = [sys.executable, "-m", "pytest", *options, "."]
    given = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        command, cwd=folder, env={**given, **environment}, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def skipped(folder: Path) -> dict[str, str]:
    kept: dict[str, str] = json.loads((folder / ".pytest_cache/v/trimtab/skipped").read_text())
    return kept
