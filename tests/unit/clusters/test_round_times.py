import heapq
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.clusters.round_times import _time, kept_tasks, service_times
from trimtab.clusters.rounds import RoundServiceTimes
from trimtab.errors import UserError

FIXED = RoundServiceTimes(2.0, 3.0, 0.5, 7.0, "deterministic")
counts = st.integers(1, 60)


def one(
    rounds: RoundServiceTimes, maps: int, reduces: int, slots: int, drop: float = 0.0, job: int = 5
):
    columns = (np.array([value]) for value in (job, maps, reduces, slots))
    work_s, dropped = service_times(rounds, 11, *columns, drop)
    return float(work_s[0]), int(dropped[0])


@given(counts, counts, st.integers(1, 25))
def test_equal_tasks_run_in_waves(maps: int, reduces: int, slots: int) -> None:
    waves = math.ceil(maps / slots) * 3.0 + math.ceil(reduces / slots) * 7.0
    assert one(FIXED, maps, reduces, slots)[0] == pytest.approx(2.5 + waves)


def test_a_job_without_reduce_tasks_has_no_shuffle() -> None:
    assert one(FIXED, 4, 0, 2)[0] == pytest.approx(2.0 + 2 * 3.0)


@pytest.mark.parametrize(
    ("drop", "left"),  # of six stages of 50 tasks: Rocha's thesis, section 4.4.3
    [(0.0, 300), (0.01, 300), (0.02, 294), (0.05, 258), (0.1, 216), (0.2, 150)],
)
def test_drop_ratios_compound_from_stage_to_stage(drop: float, left: int) -> None:
    rounds = replace(FIXED, map_stages=6)
    work_s, dropped = one(rounds, 50, 0, 1, drop)
    assert dropped == 300 - left
    assert work_s == pytest.approx(2.0 + 3.0 * left)  # one task at a time


@given(counts, st.integers(1, 6), st.integers(1, 25), st.integers(0, 90))
def test_stages_wait_for_one_another(maps: int, stages: int, slots: int, percent: int) -> None:
    left, waves = maps, 0
    for _ in range(stages):
        left = kept_tasks(left, percent / 100)
        waves += -(-left // slots)
    work_s, _ = one(replace(FIXED, map_stages=stages), maps, 0, slots, percent / 100)
    assert work_s == pytest.approx(2.0 + 3.0 * waves)


@given(st.integers(0, 400), st.integers(0, 100))
def test_whole_percentages_keep_exactly_the_ceiling(tasks: int, percent: int) -> None:
    assert kept_tasks(tasks, percent / 100) == -(-tasks * (100 - percent) // 100)


@settings(max_examples=50)
@given(counts, st.integers(1, 8), st.sampled_from(["exponential", "erlang", "lognormal"]))
def test_tasks_go_to_the_slot_that_is_free_first(maps: int, slots: int, name: str) -> None:
    """One task at a time a slot: with a slot for each the longest decides, with one their sum."""
    rounds = RoundServiceTimes(1.0, 2.0, 0.5, 1.5, name, 1.0 if name == "exponential" else 0.25)
    tasks = [_time(np.uint64(11), 5, 1, task, 2.0, *kind(rounds)) for task in range(maps)]
    set_up_s = _time(np.uint64(11), 5, 0, 0, 1.0, *kind(rounds))
    free_s = [0.0] * slots
    for task_s in tasks:
        heapq.heapreplace(free_s, free_s[0] + task_s)
    assert one(rounds, maps, 0, slots)[0] == pytest.approx(set_up_s + max(free_s))
    assert one(rounds, maps, 0, maps)[0] == pytest.approx(set_up_s + max(tasks))
    assert one(rounds, maps, 0, 1)[0] == pytest.approx(set_up_s + sum(tasks))


def kind(rounds: RoundServiceTimes) -> tuple[int, float]:
    _, distribution, shape = rounds.parameters()
    return distribution, shape


def test_dropping_tasks_leaves_the_others_as_they_were() -> None:
    rounds = RoundServiceTimes(1.0, 2.0, 0.0, 0.0)
    whole_s, fewer_s = one(rounds, 20, 0, 1)[0], one(rounds, 20, 0, 1, 0.3)[0]
    dropped_s = sum(_time(np.uint64(11), 5, 1, task, 2.0, *kind(rounds)) for task in range(14, 20))
    assert fewer_s == pytest.approx(whole_s - dropped_s)
    assert one(rounds, 20, 6, 4, 0.3)[1] == 6 + 1


def test_times_are_a_function_of_seed_and_job() -> None:
    rounds = RoundServiceTimes(1.0, 2.0, 0.5, 1.5)
    jobs = np.arange(100)
    columns = (np.full(100, 7), np.full(100, 3), np.full(100, 4))
    whole, _ = service_times(rounds, 1, jobs, *columns)
    half, _ = service_times(rounds, 1, jobs[50:], *(column[50:] for column in columns))
    assert np.array_equal(whole[50:], half)
    assert len(set(whole)) == 100
    assert not np.isin(service_times(rounds, 2, jobs, *columns)[0], whole).any()


@pytest.mark.parametrize(
    ("name", "scv", "expected_scv"),
    [("exponential", 1.0, 1.0), ("erlang", 0.25, 0.25), ("lognormal", 2.0, 2.0)],
)
def test_distributions_have_their_mean_and_variance(
    name: str, scv: float, expected_scv: float
) -> None:
    jobs = 200_000
    rounds = RoundServiceTimes(0.0, 3.0, 0.0, 0.0, name, scv)
    columns = (np.ones(jobs, int), np.zeros(jobs, int), np.ones(jobs, int))
    times_s, _ = service_times(rounds, 4, np.arange(jobs), *columns)
    assert times_s.mean() == pytest.approx(3.0, rel=0.015)
    assert times_s.var() / times_s.mean() ** 2 == pytest.approx(expected_scv, rel=0.08)


def test_exponential_tasks_take_the_mean_of_equation_4_1() -> None:
    # n tasks on C slots: (n - C) departures at rate C mu, then C, C - 1, ... 1.
    maps, reduces, slots, jobs = 50, 7, 20, 40_000
    rounds = RoundServiceTimes(1.0, 4.0, 0.5, 2.0)
    columns = (np.full(jobs, maps), np.full(jobs, reduces), np.full(jobs, slots))
    times_s, _ = service_times(rounds, 4, np.arange(jobs), *columns)
    mean_map_s = 4.0 * ((maps - slots) / slots + sum(1 / k for k in range(1, slots + 1)))
    mean_reduce_s = 2.0 * sum(1 / k for k in range(1, reduces + 1))
    error = times_s.std() / math.sqrt(jobs)
    assert abs(times_s.mean() - (1.5 + mean_map_s + mean_reduce_s)) < 3.3 * error


@pytest.mark.parametrize(
    "wrong",
    [{"map_task_s": -1.0}, {"distribution": "gamma"}, {"scv": 0.0}],
)
def test_bad_rounds_are_refused(wrong: dict) -> None:
    good = {"setup_s": 1.0, "map_task_s": 1.0, "shuffle_s": 1.0, "reduce_task_s": 1.0}
    with pytest.raises(UserError, match="rounds"):
        RoundServiceTimes(**(good | wrong))
