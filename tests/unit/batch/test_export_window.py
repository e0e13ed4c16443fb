"""What was there when an export begins, and which jobs' waits count."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_queues import jobs_of, node_type

from trimtab.batch.demands import suggested_nodes
from trimtab.batch.model import kinds_of, with_room
from trimtab.batch.nodes import parse_nodes
from trimtab.batch.window import in_window
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError


def recorded(submit_s: float, start_s: float, run_s: float, **more: object) -> dict[str, object]:
    return {"submit_s": submit_s, "recorded_start_s": start_s, "run_s": run_s, **more}


def test_what_was_there_by_hand() -> None:
    late = [recorded(200.0 + at, 210.0 + at, 5.0) for at in range(4)]
    there = [
        recorded(0.0, 150.0, 60.0),  # waits at 100 s, when the third job ends
        recorded(10.0, 20.0, 280.0, estimate_s=400.0),  # runs until 300 s
        recorded(30.0, 40.0, 60.0),
    ]
    jobs, [remark] = in_window(jobs_of([*there, *late]))
    assert jobs["name"].tolist() == ["j1", "j2", "j0", "j3", "j4", "j5", "j6"]  # running ones first
    assert jobs["job"].tolist() == list(range(7))
    assert jobs["submit_s"].tolist() == [100, 100, 100, 200, 201, 202, 203]
    assert jobs["run_s"].tolist()[:3] == [200, 0, 60] and jobs["estimate_s"][0] == 320
    assert jobs["recorded_start_s"].tolist()[:3] == [100, 100, 150]
    assert jobs["counted"].tolist() == [False] * 3 + [True] * 4
    assert remark.startswith("waits are of 4 of 7 jobs") and "3 were there when the first" in remark


def test_a_file_of_jobs_that_overlap_has_no_window() -> None:
    jobs = jobs_of([recorded(10.0 * at, 10.0 * at, 1000.0) for at in range(9)])
    found, remarks = in_window(jobs)
    pd.testing.assert_frame_equal(found, jobs)
    assert not remarks


def test_the_first_and_the_last_share() -> None:
    jobs = jobs_of([{"submit_s": float(at)} for at in range(100)])
    for warm_up, edge in ((0.0, 0), (0.05, 5), (0.1, 10)):
        found, remarks = in_window(jobs, warm_up)
        assert np.flatnonzero(found["counted"]).tolist() == list(range(edge, 100 - edge))
        assert bool(remarks) == (edge > 0)
    for warm_up in (-0.1, 0.5, float("nan")):
        with pytest.raises(UserError, match="--warm-up"):
            in_window(jobs, warm_up)


def test_every_row_is_of_the_same_jobs() -> None:
    jobs = jobs_of([{"submit_s": 0.0}, recorded(1.0, 2.0, 5.0), {"submit_s": 3.0}])
    found, [remark] = in_window(jobs)
    assert found["counted"].tolist() == [False, True, False]
    assert "2 have no recorded start" in remark
    jobs["counted"] = False  # all still run
    found, [remark] = in_window(jobs)
    assert found["counted"].all() and "all waits count" in remark


@given(
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(0, 50), st.integers(0, 90)),
        min_size=1,
        max_size=40,
    )
)
def test_nodes_are_held_as_recorded_after_the_first_end(rows: list[tuple[int, int, int]]) -> None:
    """From the window's begin on, the jobs that ran at each time are those that were recorded."""
    jobs = jobs_of([recorded(submit, submit + wait, run) for submit, wait, run in sorted(rows)])
    found, _ = in_window(jobs)
    times_s = np.arange(float(found["submit_s"].min()), 450.0)[:, None] + 0.5
    running = []
    for each in (jobs, found):
        table = each.sort_values("name")
        start_s = table["recorded_start_s"].to_numpy()
        running.append((start_s <= times_s) & (times_s < start_s + table["run_s"].to_numpy()))
    assert sorted(jobs["name"]) == sorted(found["name"])
    assert (running[0] == running[1]).all()
    assert (np.diff(found["submit_s"]) >= 0).all() and (found["run_s"] >= 0).all()
    assert (found["recorded_start_s"] >= found["submit_s"]).all()


def test_run_times_are_of_the_gpus_that_a_job_had() -> None:
    slow, fast = node_type("gpu_v100", 8, gpus=1), node_type("gpu_h100", 8, gpus=1, speed=4.0)
    cluster = Cluster((slow, fast), (1, 1))
    jobs = jobs_of([
        {"gpu_milli": 1000},
        {"gpu_milli": 1000, "run_gpu_type": "h100"},
        {"gpu_milli": 1000, "run_gpu_type": "h100", "gpu_type": "h100"},
        {"gpu_milli": 1000, "run_gpu_type": "a100"},  # there is none: as if unknown
        {"gpu_milli": 1000, "gpu_type": "h100"},
    ])  # fmt: skip
    kinds = kinds_of(jobs, cluster)
    inf = np.inf
    assert kinds.slowdown[kinds.of_job].tolist() == [
        [1, 0.25], [4, 1], [inf, 1], [1, 0.25], [inf, 1]
    ]  # fmt: skip


def test_suggested_nodes_are_demands_of_real_jobs() -> None:
    """A job of many cores and one of a GPU do not become nodes of many cores with GPUs."""
    jobs = jobs_of([
        {"cpu_milli": 128_000, "parts": 20, "memory_bytes": 100 << 30},
        {"cpu_milli": 4000, "gpu_milli": 2000},
        {"cpu_milli": 1000},
    ])  # fmt: skip
    assert suggested_nodes(jobs) == "4c2gpu:1,128c100g:20"


demands = st.fixed_dictionaries({
    "parts": st.integers(1, 20),
    "cpu_milli": st.integers(1, 200_000),
    "gpu_milli": st.sampled_from([0, 0, 250, 1000, 8000]),
    "memory_bytes": st.integers(0, 1 << 40),
    "distinct": st.booleans(),
    "gpu_type": st.sampled_from(["", "a100", "h100"]),
})  # fmt: skip


@given(st.lists(demands, min_size=1, max_size=12))
def test_suggested_nodes_have_room_for_every_job(rows: list[dict[str, object]]) -> None:
    jobs = jobs_of(rows)
    suggested = suggested_nodes(jobs)
    assert suggested.count(",") <= 2
    cluster = parse_nodes(suggested, lambda name: pytest.fail(name))
    assert with_room(jobs, kinds_of(jobs, cluster)).all()
