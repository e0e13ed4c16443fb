"""Preemption over a pool of equal cores, simulated plainly: the oracle of `--preempt`.

Jobs are served in order of tier, then submission, without backfilling. A job without room takes the
cores of running jobs of lower tiers: the lowest first, and of these the last that started. One that
is not needed is spared, those that end first by their estimate before others.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Job(NamedTuple):
    """A job of `cores` equal cores that may be interrupted, and keeps nothing then."""

    submit_s: float
    run_s: float
    cores: int
    tier: int


class Run(NamedTuple):
    """Times on the cores."""

    job: int
    start_s: float
    end_s: float


def simulate(jobs: Sequence[Job], cores: int) -> tuple[list[Run], list[Run]]:
    """Return the interrupted runs, by their ends, and the last run of each job."""
    waiting: list[int] = []
    running: dict[int, float] = {}  # starts
    interrupted: list[Run] = []
    last: dict[int, Run] = {}
    arrived = 0

    def end_s(job: int) -> float:
        return running[job] + jobs[job].run_s

    def free() -> int:
        return cores - sum(jobs[job].cores for job in running)

    while len(last) < len(jobs):
        submit_s = jobs[arrived].submit_s if arrived < len(jobs) else math.inf
        now_s = min([submit_s, *map(end_s, running)])
        for job in [job for job in running if end_s(job) == now_s]:
            last[job] = Run(job, running.pop(job), now_s)
        while arrived < len(jobs) and jobs[arrived].submit_s == now_s:
            waiting.append(arrived)
            arrived += 1
        while waiting:
            waiting.sort(key=lambda job: (-jobs[job].tier, job))
            first = waiting[0]
            if jobs[first].cores > free():
                victims = _victims(jobs, running, first, jobs[first].cores - free())
                if not victims:
                    break
                for job in victims:
                    interrupted.append(Run(job, running.pop(job), now_s))
                    waiting.append(job)
            waiting.remove(first)
            running[first] = now_s
    return interrupted, [last[job] for job in range(len(jobs))]


def _victims(jobs: Sequence[Job], running: dict[int, float], first: int, needed: int) -> list[int]:
    lower = [job for job in running if jobs[job].tier < jobs[first].tier]
    lower.sort(key=lambda job: (jobs[job].tier, -running[job], -job))
    chosen: list[int] = []
    while lower and sum(jobs[job].cores for job in chosen) < needed:
        chosen.append(lower.pop(0))
    if sum(jobs[job].cores for job in chosen) < needed:
        return []
    for job in sorted(chosen, key=lambda job: (running[job] + jobs[job].run_s, job)):
        others = [other for other in chosen if other != job]
        if sum(jobs[other].cores for other in others) >= needed:
            chosen = others
    return chosen
