"""The schedule stage takes its jobs from what the stages before it measured."""

import json
from statistics import mean

import pandas as pd
import pytest
from project import Project

from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES, RUNS, SCHEDULED
from trimtab.records.trace_facts import TraceFacts


@pytest.fixture(scope="session")
def runs(finished: Project) -> pd.DataFrame:
    """Those of the slim environment; one that began its work with its end was at work all along."""
    folder = finished.folder / "results/debloat/tiny/test_machine"
    runs = read_table(folder / "verify_runs.parquet", RUNS)
    runs = runs[runs["condition"] == "debloated"].copy()
    runs["start_up_s"] = runs["start_up_s"].where(runs["start_up_s"] < runs["wall_s"], 0.0)
    return runs


def test_service_times_image_and_cold_start_are_those_of_the_slim_environment(
    finished: Project, runs: pd.DataFrame
) -> None:
    results = finished.folder / "results"
    facts = TraceFacts.read(results / "schedule/pair/tiny_jobs/trace.json")
    measured = facts.measured["urgent"]
    assert list(measured.work_s) == pytest.approx(list(runs["wall_s"] - runs["start_up_s"]))
    assert measured.cold_start_s == pytest.approx(mean(runs["start_up_s"]))
    libraries = read_table(results / "debloat/tiny/test_machine/libraries.parquet", LIBRARIES)
    assert measured.image_bytes == libraries["compressed_after_bytes"].sum()
    assert facts.classes["other"].measured is None


def test_jobs_work_as_long_as_the_runs_did(finished: Project, runs: pd.DataFrame) -> None:
    folder = finished.folder / "results/schedule/pair/tiny_jobs/fcfs"
    jobs = read_table(folder / "jobs.parquet", SCHEDULED)
    urgent = jobs[jobs["job_class"] == "urgent"]
    work_s = (runs["wall_s"] - runs["start_up_s"]).to_numpy()
    worked_s = (urgent["execution_s"] - urgent["set_up_s"]).to_numpy()
    assert len(urgent) and all(abs(work_s - one).min() < 1e-6 for one in worked_s)
    assert len(jobs) == 300


def test_the_report_has_both_chain_and_schedule(finished: Project) -> None:
    folder = finished.folder / "results/evaluate/quickstart"
    assert (folder / "tables/schedule.csv").is_file()
    assert (folder / "tables/verification.csv").is_file()
    assert json.loads((folder / "metrics.json").read_text())["schedule"]
