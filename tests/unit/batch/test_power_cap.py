"""A cap of power: schedules by hand, and what holds of every one."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_queues import jobs_of

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.errors import UserError

# Two nodes of four cores: 100 W idle, and 50 W a busy core.
PAIR = Cluster((NodeType("node", 4000, 1 << 40, 100.0, (Level(1.0, 200.0),)),), (2,))


def capped(rows: list[dict[str, Any]], policy: str, cap_w: float) -> BatchResult:
    built = build_batch_policy(policy)[1]
    return simulate_batch(jobs_of(rows), PAIR, built, power_cap_w=cap_w)


# The first job leaves 100 W. The second one needs 150 W, the others fit beside the first.
FOUR: list[dict[str, Any]] = [
    {"parts": 1},
    {"parts": 3, "submit_s": 1.0},
    {"parts": 1, "submit_s": 2.0, "run_s": 8.0},
    {"parts": 1, "submit_s": 3.0, "run_s": 20.0},
]


@pytest.mark.parametrize(
    ("policy", "starts"),
    [
        ("fcfs", [0.0, 10.0, 20.0, 20.0]),
        # The second job starts when the first ends; the third one ends by then.
        ("easy", [0.0, 10.0, 2.0, 20.0]),
        ("conservative", [0.0, 10.0, 2.0, 20.0]),
        # Whoever has power starts, and the second job waits for two of them.
        ("any_fit", [0.0, 23.0, 2.0, 3.0]),
    ],
)
def test_jobs_wait_for_power(policy: str, starts: list[float]) -> None:
    result = capped(FOUR, policy, 350.0)
    assert result.schedule["start_s"].tolist() == starts
    assert result.peak_power_w <= 350.0


def test_the_peak_is_known_without_a_cap() -> None:
    result = simulate_batch(jobs_of(FOUR), PAIR, build_batch_policy("easy")[1])
    assert result.schedule["start_s"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert result.peak_power_w == 200.0 + 6 * 50.0


def test_a_job_that_needs_more_alone_is_left_out() -> None:
    result = capped([{"parts": 4}, {"parts": 3}], "easy", 399.0)
    assert (result.left_out, result.over_cap) == (1, 1)
    assert result.schedule["job"].tolist() == [1]


def test_a_cap_below_the_idle_nodes_is_refused() -> None:
    with pytest.raises(UserError, match=r"0\.19 given, and the nodes draw 0\.2 kW without a job"):
        capped([{}], "easy", 190.0)


def test_lower_levels_let_more_jobs_run() -> None:
    """At 80 % of the speed and 40 % of the power, four jobs run where two did."""
    levels = (Level(0.8, 80.0), Level(1.0, 200.0))
    cluster = Cluster((NodeType("node", 4000, 1 << 40, 100.0, levels),), (1,))
    rows = [{"run_s": 80.0}] * 4
    makespans = {
        each: simulate_batch(
            jobs_of(rows), cluster, build_batch_policy(each)[1], power_cap_w=200.0
        ).makespan_s
        for each in ("easy", "heats:choose_level=1")
    }
    assert makespans == {"easy": 160.0, "heats:choose_level=1": 100.0}


def test_a_node_that_falls_asleep_gives_its_power_to_a_job() -> None:
    """With both nodes awake, a job of 150 W has to wait until the idle one sleeps."""
    rows = [{"parts": 4, "run_s": 10.0}, {"parts": 3, "submit_s": 5.0, "memory_bytes": 1 << 39}]
    cluster = Cluster(
        (
            NodeType("small", 4000, 1 << 38, 100.0, (Level(1.0, 100.0),)),
            NodeType("large", 4000, 1 << 41, 100.0, (Level(1.0, 200.0),)),
        ),
        (1, 1),
    )
    sleep = Sleep(after_s=30.0, wake_s=2.0, power_share=0.1)
    for policy in ("fcfs", "easy", "conservative"):
        built = build_batch_policy(policy)[1]
        result = simulate_batch(jobs_of(rows), cluster, built, sleep=sleep, power_cap_w=260.0)
        # 10 W asleep + 100 W awake + 150 W; with both awake it would be 350 W.
        assert result.schedule["start_s"].tolist() == [2.0, 44.0]
        assert result.peak_power_w == 260.0


jobs = st.lists(
    st.fixed_dictionaries({
        "submit_s": st.integers(0, 30).map(float),
        "run_s": st.integers(1, 12).map(float),
        "parts": st.integers(1, 5),
        "cpu_milli": st.sampled_from([500, 1000, 2000]),
    }),
    min_size=1,
    max_size=15,
)  # fmt: skip


@pytest.mark.parametrize("policy", ["fcfs", "any_fit", "easy", "conservative"])
@settings(max_examples=25, deadline=None)
@given(rows=jobs, cap_w=st.integers(150, 700), sleeps=st.booleans(), molds=st.booleans())
def test_power_never_exceeds_the_cap(
    policy: str, rows: list[dict[str, Any]], cap_w: float, sleeps: bool, molds: bool
) -> None:
    rows = sorted(rows, key=lambda row: row["submit_s"])
    if molds:
        rows = [{**row, "least_parts": 1, "serial_share": 0.1} for row in rows]
    sleep = Sleep(after_s=4.0, wake_s=1.0, power_share=0.0) if sleeps else None
    cap_w = cap_w if sleeps else cap_w + 200
    try:
        result = simulate_batch(
            jobs_of(rows), PAIR, build_batch_policy(policy)[1],
            sleep=sleep, power_cap_w=cap_w, keep_allocations=True,
        )  # fmt: skip
    except UserError as error:
        assert "no job has room" in str(error)
        return
    too_large = sum(row["parts"] > 2 * (4000 // row["cpu_milli"]) for row in rows) * (not molds)
    assert result.left_out == result.over_cap + too_large == len(rows) - len(result.schedule)
    power_w = power_over_time(rows, result, sleep)
    assert max(power_w) <= cap_w + 1e-6
    assert max(power_w) <= result.peak_power_w + 1e-6 <= cap_w + 2e-6


def power_over_time(
    rows: list[dict[str, Any]], result: BatchResult, sleep: Sleep | None
) -> list[float]:
    """Return the power between any two events, from who runs where."""
    schedule = result.schedule.set_index("job")
    assert result.allocations is not None
    where = {job: sorted(set(of_job["node"])) for job, of_job in result.allocations.groupby("job")}
    gets_s = {job: schedule["start_s"][job] - (sleep.wake_s if sleep else 0.0) for job in where}
    times = sorted({*gets_s.values(), *schedule["start_s"], *schedule["end_s"],
                    *(schedule["end_s"] + (sleep.after_s if sleep else 0.0))})  # fmt: skip
    found = [0.0]
    rows_of = dict(enumerate(rows))
    for begin, end in pairwise(times):
        middle = (begin + end) / 2
        power_w = 0.0
        for node in range(2):
            uses = [
                schedule["start_s"][job] <= middle < schedule["end_s"][job] + (
                    sleep.after_s if sleep else np.inf)
                for job, nodes in where.items() if node in nodes
            ]  # fmt: skip
            power_w += 100.0 if sleep is None or any(uses) else 0.0
        for job in where:
            if schedule["start_s"][job] <= middle < schedule["end_s"][job]:
                cores = schedule["parts"][job] * rows_of[int(str(job))]["cpu_milli"] / 1000
                power_w += 50.0 * cores
        found.append(power_w)
    return found
