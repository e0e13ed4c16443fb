"""Service times of jobs of rounds: set-up, waves of map tasks, shuffle, waves of reduce tasks.

A task's time is a function of (seed, job, round, task): repeats are identical, and dropping tasks
does not change the others.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.compiled import compiled
from trimtab.clusters.rounds import RoundServiceTimes

_SETUP, _MAP, _SHUFFLE, _REDUCE = 0, 1, 2, 3
_TWO_PI = 2.0 * math.pi

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64 (Steele et al., OOPSLA 2014)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def kept_tasks(tasks: int, drop_ratio: float) -> int:
    """Return ceil(n (1 - theta)) of `tasks` n (Rocha's thesis, section 4.3.1).

    A product that rounding lifts above a whole number counts as that number: 10 tasks less 70 % are
    3, although 10 * (1 - 0.7) is above 3 in floating point.
    """
    return math.ceil(tasks * (1.0 - drop_ratio) - 1e-9)


@compiled
def uniform(seed: Any, job: int, round_number: int, task: int, draw: int) -> float:
    """Return a number in (0, 1): SplitMix64's mixer over the counters, one after the other."""
    state = np.uint64(0)
    place = np.uint64((round_number << 48) | task)
    for counter in (np.uint64(seed), np.uint64(job), place, np.uint64(draw)):
        state = (state ^ counter) + _GOLDEN
        state = (state ^ (state >> _S30)) * _MIX_1
        state = (state ^ (state >> _S27)) * _MIX_2
        state = state ^ (state >> _S31)
    return (float(state >> _S11) + 0.5) / 9007199254740992.0


@compiled
def _time(
    seed: Any, job: int, round_number: int, task: int, mean: float, distribution: int, shape: float
) -> float:
    if distribution == 0 or mean == 0.0:
        return mean
    if distribution == 3:  # Box and Muller
        first, second = (
            uniform(seed, job, round_number, task, 0),
            uniform(seed, job, round_number, task, 1),
        )
        normal = math.sqrt(-2.0 * math.log(first)) * math.cos(_TWO_PI * second)
        return mean * math.exp(shape * normal - 0.5 * shape * shape)
    phases = 1 if distribution == 1 else int(shape)
    total = 0.0
    for phase in range(phases):
        total -= math.log(uniform(seed, job, round_number, task, phase))
    return mean * total / phases


@compiled
def _makespan(free_s: Any, times_s: Any) -> float:
    """Give each task in turn to the first free slot; return the end of the last one."""
    slots = len(free_s)
    free_s[:] = 0.0
    latest = 0.0
    for task in range(len(times_s)):
        end = free_s[0] + times_s[task]
        latest = max(latest, end)
        at = 0  # slots are a binary heap by the time they become free
        while True:
            child = 2 * at + 1
            if child >= slots:
                break
            if child + 1 < slots and free_s[child + 1] < free_s[child]:
                child += 1
            if free_s[child] >= end:
                break
            free_s[at] = free_s[child]
            at = child
        free_s[at] = end
    return latest


@compiled
def _waves(seed: Any, job: int, round_number: int, first: int, waves: int, tables: Any) -> float:
    """Return the time of `waves` waves, one after the other; `first` numbers the first one."""
    begin, jumps, leaving = tables
    total = 0.0
    for wave in range(first, first + waves):
        draw = uniform(seed, job, round_number, wave, 0) * begin[-1]
        phase = np.searchsorted(begin, draw, side="right")
        step = 1
        while phase < len(leaving):
            total -= math.log(uniform(seed, job, round_number, wave, step)) / leaving[phase]
            draw = uniform(seed, job, round_number, wave, step + 1) * leaving[phase]
            phase = np.searchsorted(jumps[phase], draw, side="right")
            step += 2
    return total


@compiled
def _round(
    seed: Any,
    job: int,
    round_number: int,
    first: int,
    tasks: int,
    mean: float,
    kind: int,
    shape: float,
    slots: int,
    wave: Any,
) -> float:
    if len(wave[0]):
        return _waves(seed, job, round_number, first, -(-tasks // max(1, slots)), wave)
    times_s = np.empty(tasks)
    for task in range(tasks):
        times_s[task] = _time(seed, job, round_number, first + task, mean, kind, shape)
    return _makespan(np.empty(max(1, min(slots, tasks))), times_s)


@compiled
def _service_times(
    seed: Any,
    columns: Any,
    theta: float,
    stages: int,
    means: Any,
    kind: int,
    shape: float,
    waves: Any,
    work_s: Any,
    dropped: Any,
) -> None:
    jobs, maps, reduces, slots = columns
    map_wave, reduce_wave = waves
    for row in range(len(jobs)):
        job = jobs[row]
        total = _time(seed, job, _SETUP, 0, means[_SETUP], kind, shape)
        kept, dropped[row] = maps[row], 0
        for stage in range(stages):
            kept = kept_tasks(kept, theta)
            first = stage * maps[row]
            total += _round(
                seed, job, _MAP, first, kept, means[_MAP], kind, shape, slots[row], map_wave
            )
            dropped[row] += maps[row] - kept
        if reduces[row] > 0:
            kept = kept_tasks(reduces[row], theta)
            total += _time(seed, job, _SHUFFLE, 0, means[_SHUFFLE], kind, shape)
            total += _round(
                seed, job, _REDUCE, 0, kept, means[_REDUCE], kind, shape, slots[row], reduce_wave
            )
            dropped[row] += reduces[row] - kept
        work_s[row] = total


def service_times(
    rounds: RoundServiceTimes,
    seed: int,
    jobs: NDArray[np.int64],
    map_tasks: NDArray[np.int64],
    reduce_tasks: NDArray[np.int64],
    slots: NDArray[np.int64],
    drop_ratio: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the jobs' service times in seconds, and the number of dropped tasks of each.

    A job holds its `slots` and runs its rounds one after the other: set-up, map tasks, and, if it
    has reduce tasks, shuffle and reduce tasks (Rocha's thesis, section 4.3.1). Only ceil(n (1 -
    theta)) of a round's n tasks run. Of several stages of `map_tasks` each, the next keeps that
    many of those that the one before has left (section 4.4.3). Arrays have one entry per job.
    """
    work_s, dropped = np.empty(len(jobs)), np.empty(len(jobs), np.int64)
    means, kind, shape = rounds.parameters()
    stages = rounds.map_stages
    columns = tuple(
        np.ascontiguousarray(column, np.int64) for column in (jobs, map_tasks, reduce_tasks, slots)
    )
    waves = rounds.map_wave.tables(), rounds.reduce_wave.tables()
    _service_times(
        np.uint64(seed), columns, drop_ratio, stages, means, kind, shape, waves, work_s, dropped
    )
    return work_s, dropped
