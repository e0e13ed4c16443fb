"""Queues that might have been: blocks of the recorded one, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_queues import jobs_of

from trimtab.worth.resampling import resampled

DAY_S = 86400.0


def log(times_s: list[float]) -> pd.DataFrame:
    return jobs_of([{"submit_s": at_s, "run_s": 1.0 + at} for at, at_s in enumerate(times_s)])


@given(st.lists(st.floats(0, 40 * DAY_S), min_size=2, max_size=40), st.integers(1, 20))
def test_jobs_keep_their_place_in_a_block(times_s: list[float], replication: int) -> None:
    jobs = log(sorted(times_s))
    drawn = resampled(jobs, replication)
    assert len(drawn) > 0 and drawn["submit_s"].is_monotonic_increasing
    assert list(drawn["job"]) == list(range(len(drawn)))
    begin_s, span_s = jobs["submit_s"].min(), float(np.ptp(jobs["submit_s"]))
    block_s = min(DAY_S, span_s / 10) or 1.0
    assert drawn["submit_s"].min() >= begin_s - 1e-6
    assert drawn["submit_s"].max() <= begin_s + span_s + block_s + 1e-6
    before_s = dict(zip(jobs["name"], jobs["submit_s"], strict=True))
    moved = (drawn["submit_s"] - drawn["name"].map(before_s)) / block_s
    assert np.allclose(moved, np.rint(moved), atol=1e-4)
    run_s = dict(zip(jobs["name"], jobs["run_s"], strict=True))
    assert (drawn["run_s"] == drawn["name"].map(run_s)).all()


def test_a_block_is_drawn_whole() -> None:
    """Two jobs of the same second stay together, however often they are drawn."""
    jobs = log([0.0] + [at * DAY_S + 10.0 for at in range(12) for _ in range(2)])
    for replication in range(1, 6):
        counts = resampled(jobs, replication)["name"].value_counts()
        for day in range(12):
            pair = [counts.get(f"j{2 * day + 1 + at}", 0) for at in range(2)]
            assert pair[0] == pair[1]


def test_the_same_number_is_the_same_queue_and_another_is_not() -> None:
    jobs = log([float(at) for at in range(200)])
    pd.testing.assert_frame_equal(resampled(jobs, 3), resampled(jobs, 3))
    assert not resampled(jobs, 3)["name"].equals(resampled(jobs, 4)["name"])


def test_on_average_there_are_as_many_jobs() -> None:
    jobs = log([float(at) for at in range(500)])
    counts = [len(resampled(jobs, replication)) for replication in range(1, 101)]
    assert np.mean(counts) == pytest.approx(500, rel=0.02)


def test_jobs_of_one_instant_stay_as_they_are() -> None:
    jobs = log([5.0, 5.0])
    pd.testing.assert_frame_equal(resampled(jobs, 1), jobs)
