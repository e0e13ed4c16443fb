"""The small experiment of secure tasks, as shipped: run once, beside every published figure."""

import re
import shutil
from pathlib import Path

import pytest
from project import NOTHING_TO_DO, PROJECT, TINY, WORKFLOW, Project

from trimtab.records.parquet.files import read_table
from trimtab.records.tables import PROTECTED_RUNS

NAME = "secure_tasks_small"
COMMAND = ("snakemake", "--cores", "2", "evaluate", "--config", f'overrides=["experiment={NAME}"]')
PROGRAMS = ("matmul_small", "stream_barriers_small")
SHIPPED = (
    "task_program", "enclave/sgx1.yaml", "hardware/this_machine.yaml", f"experiment/{NAME}.yaml",
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A workflow without any environment, whose configuration has what the experiment names."""
    folder = tmp_path / "project"
    for name in WORKFLOW:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(PROJECT / name)
    shutil.copytree(TINY, folder, dirs_exist_ok=True)
    for name in SHIPPED:
        source, destination = PROJECT / "conf" / name, folder / "conf" / name
        if source.is_dir():
            shutil.copytree(source, destination, dirs_exist_ok=True)
        else:
            shutil.copy2(source, destination)
    return Project(folder)


@pytest.mark.nightly
def test_it_runs_once_and_stands_beside_every_published_figure(project: Project) -> None:
    project.succeed(*COMMAND)
    paths = [
        project.folder / f"results/protect/{name}/this_machine/runs.parquet" for name in PROGRAMS
    ]
    for path in paths:
        runs = read_table(path, PROTECTED_RUNS)
        here = runs[runs["schedule_policy"] == "openmp"]
        assert here["complete"].all() or here["error"].str.contains("lacks|OpenSSL").any()
        waits = here["enclave"] == "modelled"
        assert set(here["source"][waits]) == {"modelled"}
        assert set(here["source"][~waits]) == {"measured"}
        assert set(runs[runs["schedule_policy"] != "openmp"]["source"]) == {"modelled"}
    page = (project.folder / f"results/evaluate/{NAME}/report.html").read_text()
    assert set(re.findall(r"Figure (8\.\d)", page)) == {"8.2", "8.4", "8.5", "8.6", "8.7", "8.8"}
    assert "None of those that were run here is a hardware enclave" in page

    written = [path.stat().st_mtime_ns for path in paths]
    assert NOTHING_TO_DO in project.succeed(*COMMAND)
    assert [path.stat().st_mtime_ns for path in paths] == written
