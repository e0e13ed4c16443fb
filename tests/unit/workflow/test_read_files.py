"""Which files of an environment are others than when they were read."""

import json
import os
from pathlib import Path

import pytest

from trimtab.config.groups.workload import Workload
from trimtab.files import read_json
from trimtab.records.usage import Usage, UsedFile
from trimtab.workflow.read_files import changed_files, remember_read_files

PACKAGE = "env/lib/package"
CHANGED = Path(".snakemake/environments/cell.json")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The profile of a program that read a module, its compiled form and what else there is."""
    monkeypatch.chdir(tmp_path)
    uses = {
        f"{PACKAGE}/__init__.py": ["stat"],
        f"{PACKAGE}/__pycache__/__init__.cpython-311.pyc": ["read"],
        f"{PACKAGE}/data": ["read"],
        f"{PACKAGE}/unread": ["stat"],
        f"{PACKAGE}/cache": ["read", "write"],
        "env/pyvenv.cfg": ["read"],
        "helper.py": ["read"],
        "data.csv": ["read"],
    }
    files = []
    for name in uses:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        files.append(UsedFile(str(path), str(path), uses[name]))
    folder = tmp_path / "results"
    folder.mkdir()
    Usage(workload="one", command=["p"], complete=True, files=files).write(folder / "usage.json")
    workload = Workload(name="one", command=["python", "p.py"], python="env/bin/python")
    remember_read_files(workload, folder, CHANGED)
    return folder


def changed() -> dict[str, str | None]:
    changed_files.cache_clear()
    found: dict[str, str | None] = json.loads(Path(changed_files("results", "cell")).read_text())
    return found


def test_what_was_read_of_the_environment_counts_and_the_project_s_own_modules(
    results: Path,
) -> None:
    assert set(read_json(results / "read_files.json")["files"]) == {
        f"{PACKAGE}/__init__.py",
        f"{PACKAGE}/data",
        "helper.py",
    }


def test_nothing_has_changed_until_it_has(results: Path) -> None:
    before = CHANGED.read_bytes()
    assert changed() == {} and CHANGED.read_bytes() == before
    Path(PACKAGE, "unread").write_text("other")
    assert changed() == {}
    Path(PACKAGE, "data").write_text("other")
    Path("helper.py").unlink()
    assert set(changed()) == {f"{PACKAGE}/data", "helper.py"}
    assert changed()["helper.py"] is None


def test_a_file_that_is_written_again_as_it_was_has_not_changed(results: Path) -> None:
    data = Path(PACKAGE, "data")
    text = data.read_text()
    data.write_text("other")
    assert changed() != {}
    data.write_text(text)
    os.utime(data, (1, 1))
    assert changed() == {}


def test_before_the_first_profile_nothing_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert changed() == {}
