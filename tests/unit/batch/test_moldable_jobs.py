"""Jobs that choose their width: by hand, by a plain simulator, and what holds of every schedule."""

import heapq
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_queues import jobs_of, nodes

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import BatchResult, simulate_batch

Rows = list[dict[str, Any]]


def simulated(rows: Rows, cores: int, policy: str) -> BatchResult:
    return simulate_batch(jobs_of(rows), nodes(cores, 1), build_batch_policy(policy)[1])


def amdahl(serial: float, parts: int) -> float:
    return serial + (1 - serial) / parts


@pytest.mark.parametrize("policy", ["fcfs", "any_fit", "easy"])
def test_a_job_takes_the_room_that_there_is(policy: str) -> None:
    molds: dict[str, Any] = {
        "parts": 4,
        "least_parts": 2,
        "most_parts": 8,
        "serial_share": 0.0,
        "run_s": 80.0,
    }
    rows: Rows = [{"parts": 3}, {**molds, "submit_s": 1.0}, {**molds, "submit_s": 2.0}]
    schedule = simulated(rows, 8, policy).schedule
    # Five cores are left at 1 s; three are free again at 10 s.
    assert schedule["parts"].tolist() == [3, 5, 3]
    assert schedule["start_s"].tolist() == [0.0, 1.0, 10.0]
    assert schedule["end_s"].tolist() == pytest.approx([10.0, 1 + 80 * 4 / 5, 10 + 80 * 4 / 3])


def test_run_times_follow_amdahls_law() -> None:
    molds: dict[str, Any] = {"parts": 4, "least_parts": 1, "most_parts": 16, "serial_share": 0.1}
    schedule = simulated([molds], 16, "easy").schedule
    assert schedule["end_s"].tolist() == pytest.approx([10 * amdahl(0.1, 16) / amdahl(0.1, 4)])
    schedule = simulated([{**molds, "serial_share": 1.0}], 16, "easy").schedule
    assert schedule[["parts", "end_s"]].to_numpy().tolist() == [[1, 10.0]]


def test_a_job_too_wide_for_the_nodes_runs_narrow() -> None:
    rows: Rows = [{"parts": 4, "least_parts": 1, "serial_share": 0.0}, {"parts": 4}]
    result = simulated(rows, 2, "easy")
    assert (result.left_out, result.schedule["end_s"].tolist()) == (1, [20.0])


def test_a_wide_start_leaves_the_first_jobs_reservation_alone() -> None:
    """The third job may not take both free cores, as it would delay the second one by that."""
    rows: Rows = [
        {"parts": 2},
        {"parts": 3, "submit_s": 1.0},
        {"parts": 2, "least_parts": 1, "submit_s": 2.0, "run_s": 20.0, "serial_share": 0.0},
    ]
    schedule = simulated(rows, 4, "easy").schedule
    assert schedule["start_s"].tolist() == [0.0, 10.0, 2.0]
    assert schedule["parts"].tolist() == [2, 3, 1]


def test_conservative_plans_the_width_that_ends_first() -> None:
    molds: dict[str, Any] = {"parts": 4, "least_parts": 1, "most_parts": 4, "serial_share": 0.0}
    rows: Rows = [{"parts": 2}, {**molds, "submit_s": 1.0, "run_s": 40.0}]
    schedule = simulated(rows, 4, "conservative").schedule
    # On two cores at once it ends at 81 s, on four from 10 s on at 50 s.
    assert schedule["start_s"].tolist() == [0.0, 10.0]
    assert schedule["parts"].tolist() == [2, 4]


jobs = st.lists(
    st.fixed_dictionaries({
        "submit_s": st.integers(0, 40).map(float),
        "run_s": st.integers(1, 20).map(float),
        "parts": st.integers(1, 4),
        "least_parts": st.integers(1, 3),
        "most_parts": st.integers(3, 8),
        "serial_share": st.sampled_from([0.0, 0.25, 1.0]),
    }),
    min_size=1,
    max_size=20,
)  # fmt: skip


def plain_fcfs(rows: Rows, cores: int) -> list[float]:
    """First come, first served: the first job takes what is free, up to its most."""
    ends: list[tuple[float, int]] = []
    starts, now_s, free = [], 0.0, cores
    for row in rows:
        now_s = max(now_s, row["submit_s"])
        while ends and (ends[0][0] <= now_s or free < row["least_parts"]):
            end_s, parts = heapq.heappop(ends)
            now_s, free = max(now_s, end_s), free + parts
        while ends and ends[0][0] <= now_s:
            free += heapq.heappop(ends)[1]
        serial = row["serial_share"]
        parts = row["least_parts"] if serial == 1.0 else min(free, row["most_parts"])
        factor = amdahl(serial, parts) / amdahl(serial, row["parts"])
        starts.append(now_s)
        free -= parts
        heapq.heappush(ends, (now_s + row["run_s"] * factor, parts))
    return starts


@settings(max_examples=50, deadline=None)
@given(rows=jobs, cores=st.integers(3, 10))
def test_starts_are_those_of_a_plain_simulator(rows: Rows, cores: int) -> None:
    rows = sorted(rows, key=lambda row: row["submit_s"])
    first_s = rows[0]["submit_s"]
    rows = [{**row, "submit_s": row["submit_s"] - first_s} for row in rows]
    starts = simulated(rows, cores, "fcfs").schedule["start_s"].tolist()
    assert starts == pytest.approx(plain_fcfs(rows, cores))


@pytest.mark.parametrize("policy", ["fcfs", "any_fit", "easy", "conservative"])
@settings(max_examples=25, deadline=None)
@given(rows=jobs, cores=st.integers(3, 10))
def test_no_core_is_used_twice(policy: str, rows: Rows, cores: int) -> None:
    rows = sorted(rows, key=lambda row: row["submit_s"])
    schedule = simulated(rows, cores, policy).schedule
    events = sorted(
        [(end_s, -parts) for end_s, parts in schedule[["end_s", "parts"]].to_numpy()]
        + [(start_s, parts) for start_s, parts in schedule[["start_s", "parts"]].to_numpy()]
    )
    used = 0.0
    for _, change in events:
        used += change
        assert used <= cores
    for row, parts, start_s, end_s in zip(
        rows, schedule["parts"], schedule["start_s"], schedule["end_s"], strict=True
    ):
        assert row["least_parts"] <= parts <= row["most_parts"]
        serial = row["serial_share"]
        factor = amdahl(serial, parts) / amdahl(serial, row["parts"])
        assert math.isclose(end_s - start_s, row["run_s"] * factor, abs_tol=1e-9)
