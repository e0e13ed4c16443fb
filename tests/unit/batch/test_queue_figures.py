"""Waits and slowdowns of schedules, against plain loops and by their definitions."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.batch.figures import (
    bounded_slowdown,
    offered_load,
    recorded_waits,
    waits_of,
    width_classes,
)
from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.records.batch.tables import BATCH_JOBS


def jobs_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Jobs with what a row does not say as most jobs have it."""
    usual = {
        "name": "", "submit_s": 0.0, "run_s": 60.0, "estimate_s": math.nan, "parts": 1,
        "cpu_milli": 1000, "gpu_milli": 0, "memory_bytes": 0, "distinct": False, "gpu_type": "",
        "user": "", "group": "", "queue": "", "priority": 0, "recorded_start_s": math.nan,
        "run_gpu_type": "", "counted": True,
    }  # fmt: skip
    frame = pd.DataFrame([{"job": at, **usual, **row} for at, row in enumerate(rows)])
    return frame.reindex(columns=BATCH_JOBS.names)


def node(name: str, cores: int, gpus: int = 0, speed: float = 1.0) -> NodeType:
    return NodeType(name, 1000 * cores, 1 << 40, 0.0, (Level(speed, 0.0),), gpu_milli=1000 * gpus)


def test_a_schedule_by_hand() -> None:
    jobs = jobs_of([
        {"run_s": 5.0, "queue": "day", "user": "ann"},
        {"run_s": 100.0, "queue": "day", "user": "bob", "parts": 4, "cpu_milli": 16_000},
        {"run_s": 50.0, "queue": "night", "user": "bob", "gpu_milli": 500},
    ])  # fmt: skip
    wait_s = pd.Series([0.0, 100.0, 25.0])
    found = waits_of(jobs, wait_s, wait_s + jobs["run_s"])
    assert found.every.mean_wait_s == pytest.approx(125 / 3)
    assert (found.every.median_wait_s, found.every.longest_wait_s) == (25.0, 100.0)
    # 5 s count as 10 s, and no slowdown is below 1.
    assert found.every.mean_bounded_slowdown == pytest.approx((1 + 2 + 1.5) / 3)
    assert {each.name: each.jobs for each in found.by_queue} == {"day": 2, "night": 1}
    assert [each.name for each in found.by_width] == [
        "up to 1 core",
        "9 to 64 cores",
        "up to 1 GPU",
    ]
    assert found.user_fairness == pytest.approx((1 + 1.75) ** 2 / (2 * (1 + 1.75**2)))


@given(st.lists(st.tuples(st.floats(0, 1e7), st.floats(0, 1e6)), min_size=1, max_size=60))
def test_bounded_slowdown_is_as_defined(pairs: list[tuple[float, float]]) -> None:
    wait_s, run_s = map(pd.Series, zip(*pairs, strict=True))
    found = bounded_slowdown(wait_s + run_s, run_s)
    assert list(found) == [max(1.0, (wait + run) / max(run, 10.0)) for wait, run in pairs]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1e6)), min_size=1, max_size=60))
def test_groups_add_up(rows: list[tuple[int, float]]) -> None:
    jobs = jobs_of([{"queue": f"q{queue}", "user": f"u{queue}"} for queue, _ in rows])
    wait_s = pd.Series([wait for _, wait in rows])
    found = waits_of(jobs, wait_s, wait_s + jobs["run_s"])
    if found.by_queue:
        assert sum(each.jobs for each in found.by_queue) == len(rows)
        total_s = sum(each.jobs * each.mean_wait_s for each in found.by_queue)
        assert total_s == pytest.approx(float(wait_s.sum()))
        assert found.user_fairness is not None and 1 / 5 <= found.user_fairness <= 1
    else:
        assert len({queue for queue, _ in rows}) == 1 and found.user_fairness is None
    assert sum(each.jobs for each in found.by_width) == len(rows)
    every = found.every
    assert every.median_wait_s <= every.p95_wait_s <= every.longest_wait_s


@pytest.mark.parametrize(
    ("parts", "cpu_milli", "gpu_milli", "name"),
    [
        (1, 500, 0, "up to 1 core"), (1, 1001, 0, "2 to 8 cores"), (8, 1000, 0, "2 to 8 cores"),
        (1, 8001, 0, "9 to 64 cores"), (64, 8000, 0, "65 to 512 cores"),
        (65, 8000, 0, "over 512 cores"), (4, 8000, 250, "up to 1 GPU"),
        (2, 8000, 8000, "9 to 64 GPUs"), (100, 1, 8000, "over 512 GPUs"),
    ],
)  # fmt: skip
def test_width_is_of_all_parts(parts: int, cpu_milli: int, gpu_milli: int, name: str) -> None:
    jobs = jobs_of([{"parts": parts, "cpu_milli": cpu_milli, "gpu_milli": gpu_milli}])
    names, [found] = width_classes(jobs)
    assert names[found] == name and len(set(names)) == len(names)


def test_recorded_waits_are_of_jobs_that_have_a_start() -> None:
    assert recorded_waits(jobs_of([{}])) is None
    jobs = jobs_of([{"submit_s": 10.0, "recorded_start_s": 40.0}, {}])
    assert recorded_waits(jobs) is None  # other rows would be of other jobs
    found = recorded_waits(jobs.head(1))
    assert found is not None and found.every.jobs == 1
    assert (found.every.mean_wait_s, found.every.mean_response_s) == (30.0, 90.0)


def test_the_load_is_the_largest_of_all_resources() -> None:
    cluster = Cluster((node("cpu", 10), node("gpu_a40", 10, gpus=2)), (1, 1))
    rows: list[dict[str, Any]] = [
        {"submit_s": 10.0 * at, "run_s": 20.0, "cpu_milli": 1000} for at in range(11)
    ]
    assert offered_load(jobs_of(rows), cluster) == pytest.approx(11 * 20 / (20 * 100))
    rows = [row | {"gpu_milli": 2000, "gpu_type": "A40"} for row in rows]
    assert offered_load(jobs_of(rows), cluster) == pytest.approx(11 * 20 * 2 / (2 * 100))
    # Cores of the node that the jobs cannot use do not count.
    rows = [row | {"cpu_milli": 10_000, "gpu_milli": 0} for row in rows]
    assert offered_load(jobs_of(rows), cluster) == pytest.approx(11 * 20 * 10 / (10 * 100))


def test_a_faster_node_has_more() -> None:
    rows = [{"submit_s": 10.0 * at, "run_s": 20.0} for at in range(11)]
    slow = offered_load(jobs_of(rows), Cluster((node("slow", 1),), (2,)))
    mixed = offered_load(
        jobs_of(rows), Cluster((node("slow", 1), node("fast", 1, speed=3)), (1, 1))
    )
    assert slow is not None and mixed == pytest.approx(slow / 2)
    # One type alone: however fast, the recorded times are of it.
    fast = offered_load(jobs_of(rows), Cluster((node("fast", 1, speed=3),), (2,)))
    assert fast == pytest.approx(slow)


def test_few_jobs_have_no_load() -> None:
    cluster = Cluster((node("cpu", 1),), (1,))
    assert offered_load(jobs_of([{"submit_s": 0.0}, {"submit_s": 60.0}]), cluster) is None
    assert offered_load(jobs_of([{}]), cluster) is None


def test_many_jobs_have_their_figures_at_once() -> None:
    many = 200_000
    rng = np.random.default_rng(3)
    jobs = jobs_of([{}]).loc[np.zeros(many, int)].reset_index(drop=True)
    jobs["user"] = rng.integers(0, 500, many).astype(str)
    jobs["queue"] = rng.integers(0, 400, many).astype(str)
    wait_s = pd.Series(rng.exponential(3600, many))
    found = waits_of(jobs, wait_s, wait_s + jobs["run_s"])
    assert len(found.by_queue) == 50 and found.every.mean_wait_s == pytest.approx(3600, rel=0.02)
