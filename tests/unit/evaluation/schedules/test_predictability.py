"""The errors of predicting jobs by their type of node, against figures done by hand."""

from pathlib import Path

import experiment_files as files
import pandas as pd
import pytest
import schedule_files
from hypothesis import given
from hypothesis import strategies as st
from schedule_files import allocation

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.schedules.predictability import error_of_mean_pct
from trimtab.records.trace_facts import ServiceSource

SOME = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=20)


def two_policies(folder: Path, source: ServiceSource, nodes: tuple[str, ...]) -> Schedules:
    """Three jobs: two on the server, and one that moves under the second policy."""
    on_server = [allocation(0, 0, 11, "finished"), allocation(1, 0, 31, "finished")]
    moves = [allocation(2, 0, 5, "migrated"), allocation(2, 5, 50, "finished", node=1)]
    stays = [allocation(2, 0, 41, "finished", node=len(nodes) - 1)]
    folders = [
        schedule_files.write_cell(
            folder / "cluster/drawn" / policy,
            policy,
            policy,
            [*on_server, *last],
            nodes,
            trace="drawn",
            baseline=policy == "k8s",
            service_source=source,
        )
        for policy, last in (("k8s", stays), ("heats", moves))
    ]
    return load(files.inputs([], [], schedule=tuple(folders))).schedules


def test_means_and_errors_are_of_jobs_that_stayed(tmp_path: Path) -> None:
    found = two_policies(tmp_path, ServiceSource.DRAWN, ("server", "board"))
    rows = {
        (row["job_class"], row["node_type"]): row
        for row in schedule_files.schedule_table(found, "predictions").rows
    }
    # Set-up is a second: 10 s of the low job and 30 s of the high one, under both policies.
    low, high = rows["low", "server"], rows["high", "server"]
    assert (low["jobs"], low["run_time_s"], low["run_time_error_pct"]) == (2, 10.0, 0.0)
    assert (high["jobs"], high["run_time_s"]) == (2, 30.0)
    moved = rows["low", "board"]
    assert (moved["jobs"], moved["run_time_s"]) == (1, 40.0)
    assert moved["energy_j"] == pytest.approx(20.0 * 41)


@pytest.mark.parametrize(
    ("source", "nodes"),
    [(ServiceSource.RECORDED, ("server", "board")), (ServiceSource.DRAWN, ("server", "server"))],
)
def test_other_schedules_have_no_such_table(
    tmp_path: Path, source: ServiceSource, nodes: tuple[str, ...]
) -> None:
    found = two_policies(tmp_path, source, nodes)
    with pytest.raises(StopIteration):
        schedule_files.schedule_table(found, "predictions")


def test_the_error_of_a_mean() -> None:
    # 15 for 10 is off by a half, 15 for 20 by a quarter.
    assert error_of_mean_pct(pd.Series([10.0, 20.0])) == pytest.approx(37.5)


@given(SOME, st.floats(0.1, 100))
def test_the_error_does_not_depend_on_the_unit(values: list[float], unit: float) -> None:
    error = error_of_mean_pct(pd.Series(values))
    assert error >= 0
    assert error_of_mean_pct(pd.Series(values) * unit) == pytest.approx(error, rel=1e-6, abs=1e-9)
