"""The file that a job is given, and what Snakemake records of it."""

from pathlib import Path

import pytest

from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Profiling
from trimtab.config.stages import ProfileStage, read
from trimtab.workflow.configured import configured

HARDWARE = Hardware(
    name="here", cores=1, memory_gib=1.0, idle_w=1.0, busy_w=2.0, memory_w_per_gib=0.1,
    power_source="guessed",
)  # fmt: skip


def stage(**changed: object) -> ProfileStage:
    workload = Workload(name="one", command=["python", "p.py"], python="env/bin/python", **changed)
    return ProfileStage(workload, HARDWARE, Profiling())


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_job_is_given_all_of_it() -> None:
    given = configured(stage(timeout_s=7.0))
    assert read(Path(given), ProfileStage).workload.timeout_s == 7.0


def test_a_limit_changes_the_file_and_not_the_record() -> None:
    first = configured(stage(timeout_s=7.0))
    second = configured(stage(timeout_s=8.0))
    assert repr(first) == repr(second) and first == second
    assert read(Path(second), ProfileStage).workload.timeout_s == 8.0


def test_what_results_depend_on_changes_both() -> None:
    first, second = configured(stage()), configured(stage(env={"A": "b"}))
    assert repr(first) != repr(second) and first != second
    assert read(Path(first), ProfileStage).workload.env == {}
