import heapq
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase_types import convolve

from trimtab.queueing.errors import ModelError
from trimtab.queueing.job_times import TaskModel, WaveModel, effective_tasks
from trimtab.queueing.phase_type import (
    erlang,
    exponential,
    fit_two_moments,
)


def stage_mean(tasks: int, slots: int) -> float:
    return sum(1 / min(left, slots) for left in range(1, tasks + 1))


def listed_end(task_s: list[float], slots: int) -> float:
    """When the last task ends if each starts as soon as a slot is free."""
    busy = [0.0] * slots
    for time in task_s:
        heapq.heapreplace(busy, busy[0] + time)
    return max(busy)


def test_the_effective_number_of_tasks() -> None:
    assert [effective_tasks(50, theta) for theta in (0, 0.01, 0.1, 0.2, 1)] == [50, 50, 45, 40, 0]
    assert effective_tasks(10, 0.7) == 3  # 10 * (1 - 0.7) is 3.0000000000000004 in floating point
    assert effective_tasks(0, 0.5) == 0
    with pytest.raises(ModelError, match="drop ratio"):
        effective_tasks(10, 1.1)


@given(st.integers(1, 10_000), st.integers(0, 1000))
def test_the_effective_number_is_the_ceiling_in_exact_arithmetic(tasks: int, mille: int) -> None:
    assert effective_tasks(tasks, mille / 1000) == -(-tasks * (1000 - mille) // 1000)


def test_one_slot_does_one_task_after_the_other() -> None:
    job = TaskModel(0.0, 2.0, 0.0, 1.0, {5: 1.0}, {0: 1.0}, 1).processing_time()
    t = np.linspace(0, 40, 50)
    np.testing.assert_allclose(job.cdf(t), erlang(5, 0.5).cdf(t), atol=1e-14)


def test_slots_for_all_end_with_the_longest_task() -> None:
    job = TaskModel(0.0, 2.0, 0.0, 1.0, {6: 1.0}, {0: 1.0}, 6).processing_time()
    t = np.linspace(0, 40, 50)
    np.testing.assert_allclose(job.cdf(t), (1 - np.exp(-t / 2)) ** 6, atol=1e-13)
    assert job.mean == pytest.approx(2 * sum(1 / k for k in range(1, 7)))


def test_the_mean_adds_the_stages_up() -> None:
    maps, reduces = {50: 0.25, 30: 0.75}, {7: 0.5, 1: 0.25, 0: 0.25}
    model = TaskModel(3.0, 1.5, 0.7, 0.4, maps, reduces, 20)
    for theta, reduce_theta in ((0.0, 0.0), (0.1, 0.0), (0.25, 0.5), (1.0, 1.0)):
        expected = 3.0 + 0.7
        for n, p in maps.items():
            expected += p * 1.5 * stage_mean(math.ceil(n * (1 - theta)), 20)
        for n, p in reduces.items():
            expected += p * 0.4 * stage_mean(math.ceil(n * (1 - reduce_theta)), 20)
        job = model.processing_time(theta, reduce_theta)
        assert job.mean == pytest.approx(expected, rel=1e-12)


def test_the_phases_are_those_of_equation_4_1() -> None:
    job = TaskModel(2.0, 1.0, 4.0, 0.5, {1: 0.2, 3: 0.8}, {2: 1.0}, 2).processing_time()
    # setup, three maps left, two, one, shuffle, two reduces left, one
    np.testing.assert_allclose(job.alpha, [1, 0, 0, 0, 0, 0, 0])
    expected = np.diag([-0.5, -2, -2, -1, -0.25, -4, -2])
    expected[0, 1], expected[0, 3] = 0.5 * 0.8, 0.5 * 0.2
    expected[1, 2] = expected[2, 3] = 2
    expected[3, 4], expected[4, 5], expected[5, 6] = 1, 0.25, 4
    np.testing.assert_allclose(job.matrix, expected, atol=1e-15)


def test_against_list_scheduling_of_drawn_tasks() -> None:
    maps, reduces, slots = {9: 0.5, 4: 0.5}, {3: 1.0}, 4
    job = TaskModel(1.0, 2.0, 0.5, 1.0, maps, reduces, slots).processing_time(0.2)
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(20_000):
        tasks = effective_tasks(int(rng.choice([9, 4])), 0.2)
        map_s = listed_end(rng.exponential(2.0, tasks).tolist(), slots)
        reduce_s = listed_end(rng.exponential(1.0, 3).tolist(), slots)
        drawn.append(rng.exponential(1.0) + map_s + rng.exponential(0.5) + reduce_s)
    error = np.std(drawn) / math.sqrt(len(drawn))
    assert job.mean == pytest.approx(np.mean(drawn), abs=4 * error)
    for p in (0.1, 0.5, 0.95):
        share = np.mean(np.array(drawn) <= job.quantile(p))
        assert share == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / len(drawn)))


def test_waves_are_as_many_as_the_tasks_need() -> None:
    wave = fit_two_moments(3.0, 0.4)
    model = WaveModel(None, wave, None, exponential(1.0), {41: 1.0}, {0: 1.0}, 20)
    s = np.array([0.1, 1 + 1j])
    np.testing.assert_allclose(model.processing_time().laplace(s), wave.laplace(s) ** 3)
    # 41 tasks of which 10 % are dropped are 37: a wave less; of 20 % 33: no further one
    np.testing.assert_allclose(model.processing_time(0.1).laplace(s), wave.laplace(s) ** 2)
    np.testing.assert_allclose(model.processing_time(0.2).laplace(s), wave.laplace(s) ** 2)


def test_all_the_stages_of_waves() -> None:
    setup, shuffle = erlang(10, 2.0), exponential(0.5)
    wave, reduce_wave = fit_two_moments(3.0, 2.5), erlang(2, 1.0)
    model = WaveModel(setup, wave, shuffle, reduce_wave, {50: 0.5, 20: 0.5}, {1: 0.9, 0: 0.1}, 20)
    s = np.array([0.1, 1 + 1j])
    w = wave.laplace(s)
    expected = setup.laplace(s) * (0.5 * w**3 + 0.5 * w) * shuffle.laplace(s)
    expected *= 0.9 * reduce_wave.laplace(s) + 0.1
    np.testing.assert_allclose(model.processing_time().laplace(s), expected, rtol=1e-12)


def test_stages_of_waves_drop_tasks_in_turn() -> None:
    wave = fit_two_moments(3.0, 0.4)
    model = WaveModel(None, wave, None, wave, {41: 1.0}, {0: 1.0}, 20, map_stages=3)
    s = np.array([0.1, 1 + 1j])
    np.testing.assert_allclose(model.processing_time().laplace(s), wave.laplace(s) ** 9)
    # Half of 41 are 21, 11 and 6: two waves, one and one.
    np.testing.assert_allclose(model.processing_time(0.5).laplace(s), wave.laplace(s) ** 4)
    with pytest.raises(ModelError, match="one stage of map tasks or more, not 0"):
        WaveModel(None, wave, None, wave, {41: 1.0}, {0: 1.0}, 20, map_stages=0)


def test_one_task_a_wave_is_the_task_model_of_one_slot() -> None:
    task = TaskModel(1.0, 2.0, 3.0, 4.0, {3: 0.5, 2: 0.5}, {2: 1.0}, 1)
    wave = WaveModel(
        exponential(1),
        exponential(1 / 2),
        exponential(1 / 3),
        exponential(1 / 4),
        {3: 0.5, 2: 0.5},
        {2: 1.0},
        1,
    )
    t = np.linspace(0, 60, 30)
    np.testing.assert_allclose(
        task.processing_time(0.4).cdf(t), wave.processing_time(0.4).cdf(t), atol=1e-13
    )


@given(st.integers(1, 60), st.integers(1, 30), st.floats(0, 0.9), st.floats(0, 0.1))
@settings(max_examples=50)
def test_dropping_more_never_takes_longer(n: int, slots: int, theta: float, more: float) -> None:
    task = TaskModel(1.0, 2.0, 0.0, 0.0, {n: 1.0}, {0: 1.0}, slots)
    wave = WaveModel(None, exponential(1), None, exponential(1), {n: 1.0}, {0: 1.0}, slots)
    for model in (task, wave):
        shorter = model.processing_time(theta + more).mean
        assert shorter <= model.processing_time(theta).mean * (1 + 1e-12)


def test_a_job_without_stages_between() -> None:
    both = TaskModel(1.0, 5.0, 0.0, 5.0, {0: 1.0}, {1: 1.0}, 2).processing_time()
    t = np.linspace(0, 30, 9)
    expected = convolve(exponential(1.0), exponential(0.2)).cdf(t)
    np.testing.assert_allclose(both.cdf(t), expected, atol=1e-14)


def task(**changed: object) -> Callable[[], object]:
    given = {
        "setup_s": 1.0,
        "map_task_s": 1.0,
        "shuffle_s": 1.0,
        "reduce_task_s": 1.0,
        "map_tasks": {2: 1.0},
        "reduce_tasks": {1: 1.0},
        "slots": 2,
    }
    return lambda: TaskModel(**(given | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (task(setup_s=-1.0), "setup_s"),
        (task(shuffle_s=math.nan), "shuffle_s"),
        (task(map_task_s=math.inf), "map_task_s"),
        (task(slots=0), "slot"),
        (task(map_tasks={2: 0.5}), "map_tasks sum to 1"),
        (task(map_tasks={}), "map_tasks sum to 1"),
        (task(reduce_tasks={2: 1.5, 1: -0.5}), "negative"),
        (task(reduce_tasks={-2: 1.0}), "whole numbers"),
        (task(reduce_tasks={1.5: 1.0}), "whole numbers"),
    ],
)
def test_what_is_no_job(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_a_job_with_nothing_to_do_is_no_job() -> None:
    model = TaskModel(0.0, 1.0, 0.0, 1.0, {2: 1.0}, {0: 0.5, 1: 0.5}, 2)
    with pytest.raises(ModelError, match=r"probability 0\.5 a job has nothing"):
        model.processing_time(1.0)


def test_stages_drop_tasks_of_those_that_are_left() -> None:
    # One task at a time, of 2 s: of three stages of 10 tasks, 8, 7 and 6 are left.
    model = TaskModel(1.0, 2.0, 0.0, 0.0, {10: 1.0}, {0: 1.0}, 1, map_stages=3)
    job = model.processing_time(0.2)
    assert job.mean == pytest.approx(1.0 + 2.0 * 21)
    assert job.moment(2) - job.mean**2 == pytest.approx(1.0 + 4.0 * 21)
    with pytest.raises(ModelError, match="one stage of map tasks or more, not 0"):
        replace(model, map_stages=0)
