from pathlib import Path

import pytest
from project import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A fresh project with the tiny experiment, nothing run yet."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose experiment has run; tests leave it as they found it."""
    project = make_project(tmp_path_factory.mktemp("finished") / "project")
    project.succeed("snakemake", "--cores", "2", "all")
    return project
