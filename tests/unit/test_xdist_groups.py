"""pytest-xdist runs tests that share a costly fixture in one worker, which makes it once."""

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
WRITE_WORKER = """
import os, pathlib, pytest

def write_worker(kind):
    with open(f"{kind}.txt", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""
MARKED = """
@pytest.mark.xdist_group("marked")
@pytest.mark.parametrize("number", range(12))
def test_marked(number): write_worker("marked")
"""
SHARED = """
@pytest.fixture(scope="module")
def costly(): write_worker("made")

@pytest.mark.parametrize("number", range(12))
def test_shared(costly, number): write_worker("shared")

@pytest.mark.parametrize("number", range(12))
def test_alone(number): write_worker("alone")
"""


def run(folder: Path) -> None:
    """Run the tests of `folder` with the project's conftest.py in three workers."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-n", "3", "--dist", "loadgroup"]
    given = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def workers(folder: Path, kind: str) -> list[str]:
    return (folder / f"{kind}.txt").read_text().split()


def test_a_marked_group_stays_in_one_worker(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WRITE_WORKER + MARKED)
    run(tmp_path)
    marked = workers(tmp_path, "marked")
    assert len(marked) == 12 and len(set(marked)) == 1


def test_tests_that_share_a_fixture_of_their_module_stay_in_one_worker(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WRITE_WORKER + SHARED)
    run(tmp_path)
    assert len(workers(tmp_path, "made")) == 1
    shared, alone = workers(tmp_path, "shared"), workers(tmp_path, "alone")
    assert len(shared) == len(alone) == 12
    assert len(set(shared)) == 1 and len(set(alone)) > 1
