"""Where a workspace may be: what is the user's own is in no danger from a name that it has."""

import venv
from pathlib import Path

import pytest

from trimtab.cli import workspace
from trimtab.cli.documents import TracedProgram
from trimtab.cli.workspace_mark import MARK, claim
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError

NAMES = ("env", "runs", "spans", "libraries", "settling", "verification", "usage.json")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    venv.create(tmp_path / "environment", with_pip=False, symlinks=True)
    return tmp_path / "environment/bin/python"


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_the_users_becomes_no_workspace(
    python: Path, tmp_path: Path, name: str
) -> None:
    own = tmp_path / "own"
    (own / name).mkdir(parents=True)
    (own / name / "precious").touch()
    with pytest.raises(UserError, match=r"no workspace of trimtab.*name a new folder"):
        workspace.trace(own, [str(python), "-c", "pass"])
    assert [str(path.relative_to(own)) for path in sorted(own.rglob("*"))] == [
        name,
        f"{name}/precious",
    ]


@pytest.mark.parametrize("place", ["environment", "environment/new", "."])
def test_a_workspace_in_the_environment_is_refused_before_anything_runs(
    python: Path, tmp_path: Path, place: str
) -> None:
    ran = tmp_path / "ran"
    if place == ".":  # the environment would be where the slim one is to be
        (tmp_path / "environment").rename(tmp_path / "env")
        python = tmp_path / "env/bin/python"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="cannot be in the environment"):
        workspace.trace(tmp_path / place, [str(python), "-c", f"open({str(ran)!r}, 'w')"])
    assert sorted(tmp_path.rglob("*")) == before


def test_a_workspace_is_known_again(tmp_path: Path) -> None:
    """Also one of a trimtab that did not mark it, on a disk of its own, and under Git."""
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".gitignore").touch()
    claim(tmp_path)
    (tmp_path / "runs").mkdir()
    claim(tmp_path)
    (tmp_path / MARK).unlink()
    with pytest.raises(UserError, match="no workspace of trimtab"):
        claim(tmp_path)
    TracedProgram(workload=Workload(name="one", command=["x"], python="x")).write(
        tmp_path / "workload.json"
    )
    claim(tmp_path)
    assert (tmp_path / MARK).is_file()
