"""The report of a queue: its figures against plain loops, its page from files alone."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.queue.charts import mean_between
from trimtab.evaluation.queue.page import write_queue_report
from trimtab.records.batch.comparison import (
    GroupWaits,
    NodeGroup,
    PolicyOutcome,
    QueueComparison,
    QueueWaits,
    WaitFigures,
)
from trimtab.records.batch.tables import BATCH_JOBS, BATCH_SCHEDULE
from trimtab.records.parquet.files import write_table

JOBS, RUN_S = 4, 600.0


def waits(mean_s: float, width: str = "9 to 64 cores") -> QueueWaits:
    figures: dict[str, Any] = {
        "jobs": JOBS, "mean_wait_s": mean_s, "median_wait_s": mean_s, "p95_wait_s": mean_s,
        "longest_wait_s": 2 * mean_s,
        "mean_response_s": mean_s + RUN_S, "p95_response_s": mean_s + RUN_S,
        "mean_bounded_slowdown": 1 + mean_s / RUN_S,
    }  # fmt: skip
    return QueueWaits(WaitFigures(**figures), [], [GroupWaits(name=width, **figures)], 0.75)


def write_results(folder: Path, *, gpus: int = 0, recorded: bool = True) -> Path:
    """Write four jobs on one node under two policies, one of which has them wait."""
    folder.mkdir(exist_ok=True)
    at = np.arange(JOBS)
    jobs = pd.DataFrame({
        "job": at, "name": "", "submit_s": 60.0 * at, "run_s": RUN_S, "estimate_s": RUN_S,
        "parts": 1, "cpu_milli": 16_000, "gpu_milli": 1000 * gpus, "memory_bytes": 0,
        "distinct": False, "gpu_type": "", "run_gpu_type": "", "counted": True,
        "user": "", "group": "", "queue": "", "priority": 0,
        "recorded_start_s": 60.0 * at + 30 if recorded else np.nan, "deadline_s": np.nan,
        "image": "", "least_parts": 1, "most_parts": 1, "serial_share": 0.0, "model": "",
        "checkpoint_interval_s": np.nan, "checkpoint_cost_s": np.nan, "restart_cost_s": np.nan,
    })  # fmt: skip
    write_table(folder / "jobs.parquet", BATCH_JOBS, jobs)
    outcomes = []
    for name, wait_s in (("slow", 3600.0), ("fast", 0.0)):
        start_s = jobs["submit_s"] + wait_s
        schedule = jobs[["job", "name", "user", "queue", "submit_s"]].assign(
            start_s=start_s, end_s=start_s + RUN_S, wait_s=wait_s,
            bounded_slowdown=1 + wait_s / RUN_S, node_type="n", nodes=1, energy_j=1000.0,
            parts=1, startup_s=0.0, interruptions=0,
        )  # fmt: skip
        write_table(folder / f"{name}.parquet", BATCH_SCHEDULE, schedule)
        outcomes.append(PolicyOutcome(
            policy=name, schedule=f"{name}.parquet", waits=waits(wait_s), makespan_s=780 + wait_s,
            cpu_share=0.5, gpu_share=0.25 if gpus else None, idle_energy_j=3.6e6,
            active_energy_j=1.8e6, cost_eur=None, carbon_kg=None,
        ))  # fmt: skip
    QueueComparison(
        file="jobs.csv", format="csv", jobs=JOBS, counted=JOBS, left_out=0,
        skipped={"cancelled": 2},
        nodes=[NodeGroup("n", 2, 64_000, 8000 * gpus)], load=None,
        recorded=waits(30.0) if recorded else None, policies=outcomes,
        remarks=["estimates are the run times"],
    ).write(folder / "comparison.json")  # fmt: skip
    return folder


def test_a_page_of_its_own(tmp_path: Path) -> None:
    page = write_queue_report(write_results(tmp_path, gpus=1)).read_text()
    # All figures in the order asked for, each with its file; no request leaves the page.
    for name in ("waits", "over_time", "waits_by_width"):
        assert f'id="figure-{name}"' in page and (tmp_path / f"figures/{name}.svg").is_file()
    assert "default-src 'none'" in page
    assert "Fast: mean wait 0 s instead of 30 s as recorded (-100 %)." in page
    assert "Jobs left out: 2 cancelled." in page and "estimates are the run times" in page
    assert "Published" not in page.partition("<script")[0]
    drawn = (tmp_path / "figures/over_time.svg").read_text()
    assert "GPUs in use" in drawn and "waiting jobs" in drawn


def test_tables_are_exact(tmp_path: Path) -> None:
    write_queue_report(write_results(tmp_path))
    with (tmp_path / "tables/policies.csv").open() as file:
        recorded, slow, fast = csv.DictReader(file)
    assert recorded["policy"] == "as recorded" and recorded["makespan_s"] == ""
    assert (slow["mean_wait_s"], fast["mean_wait_s"]) == ("3600.0", "0.0")
    assert float(slow["energy_kwh"]) == pytest.approx(1.5)
    assert "cost_eur" not in slow and "gpu_pct" not in slow
    with (tmp_path / "tables/by_width.csv").open() as file:
        assert [row["policy"] for row in csv.DictReader(file)] == ["as recorded", "slow", "fast"]


def test_without_recorded_starts_policies_stand_alone(tmp_path: Path) -> None:
    page = write_queue_report(write_results(tmp_path, recorded=False)).read_text()
    assert "as recorded" not in page.partition("<script")[0]
    assert "Fast: mean wait 0 s instead of 60 min under slow (-100 %)." in page


def test_damaged_results_are_named(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    (folder / "slow.parquet").write_bytes(b"PAR1")
    with pytest.raises(TrimtabError, match=re.escape("slow.parquet")):
        write_queue_report(folder)
    (folder / "slow.parquet").unlink()
    with pytest.raises(UserError, match=re.escape("slow.parquet: missing")):
        write_queue_report(folder)


@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 50), st.integers(0, 9)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([1, 2, 5, 16, 80]),
)
def test_means_are_those_of_single_seconds(
    intervals: list[tuple[int, int, int]], bins: int
) -> None:
    start, took, width = map(np.array, zip(*intervals, strict=True))
    in_use = np.zeros(160)
    for begin, long, wide in intervals:
        in_use[begin : begin + long] += wide
    expected = in_use.reshape(bins, -1).mean(axis=1)
    found = mean_between(np.linspace(0, 160, bins + 1), start, start + took, width)
    assert found == pytest.approx(expected, abs=1e-9)
