"""The small characterization, as shipped: on a real Spark, once, beside every published figure."""

import re
import shutil
from pathlib import Path

import pytest
from project import NOTHING_TO_DO, PROJECT, TINY, WORKFLOW, Project

from trimtab.errors import UserError
from trimtab.files import read_json
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import CHARACTERIZATION_RUNS
from trimtab.spark.home import use_spark

pytestmark = pytest.mark.xdist_group("spark")

NAME = "characterization_small"
COMMAND = ("snakemake", "--cores", "2", "evaluate", "--config", f'overrides=["experiment={NAME}"]')
RUNS = "results/characterize/small/this_machine/runs.parquet"
SHIPPED = (
    "characterization/small.yaml", "learning", "hardware/this_machine.yaml",
    f"experiment/{NAME}.yaml",
)  # fmt: skip
MENTIONED = re.compile(r"Figures? (5\.\d+)[a-z]?(?:(?: and | to |, )(5\.\d+))?")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A workflow without any environment, whose configuration has what the experiment names."""
    try:
        use_spark()
    except UserError as error:
        pytest.skip(str(error))
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


@pytest.mark.timeout(1200)  # eight sessions of Spark: minutes, and more where others are at work
def test_it_runs_once_and_stands_beside_every_published_figure(project: Project) -> None:
    project.succeed(*COMMAND)
    runs = read_table(project.folder / RUNS, CHARACTERIZATION_RUNS)
    assert runs.complete.all() and not runs.duplicated(["workload", "phase", "settings"]).any()
    assert set(runs.phase) == {"defaults", "platform", "hyper", "joint"}
    assert set(runs.data_source.str.partition(" of ")[0]) == {"digits", "breast_cancer"}

    results = project.folder / f"results/evaluate/{NAME}"
    page = (results / "report.html").read_text()
    found = {figure for pair in MENTIONED.findall(page) for figure in pair if figure}
    assert found >= {f"5.{number}" for number in range(1, 11)}
    told = read_json(results / "metrics.json")["characterization"]
    assert (told["workloads"], told["runs"], told["failed"]) == (2, len(runs), 0)

    measured = (project.folder / RUNS).stat().st_mtime_ns
    assert NOTHING_TO_DO in project.succeed(*COMMAND)
    assert (project.folder / RUNS).stat().st_mtime_ns == measured
