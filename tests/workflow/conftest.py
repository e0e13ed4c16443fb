import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from project import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A fresh project with the tiny experiment, nothing run yet."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Project:
    """A project whose experiment has run; tests leave it as they found it.

    It runs once: each of xdist's processes has a copy.
    """
    own = tmp_path_factory.mktemp("finished") / "project"
    shared = tmp_path_factory.getbasetemp() / "run"
    if worker_id != "master":
        shared = tmp_path_factory.getbasetemp().parent / "run"
    with FileLock(f"{shared}.lock"):
        if not (shared / "whole").exists():
            make_project(shared / "project").succeed("snakemake", "--cores", "2", "all")
            (shared / "whole").touch()
    shutil.copytree(shared / "project", own, symlinks=True)
    return Project(own)
