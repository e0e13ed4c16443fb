"""Preemption over a pool of equal cores, simulated plainly: the oracle of `--preempt`.

Jobs are served in order of tier, then submission. The first one without room takes the cores of
running jobs of lower tiers: the lowest first, and of these the last that started. One that is not
needed is spared, those that end first by their estimate before others. Backfilling is as in
plain_batch.py; a job that was interrupted, or comes before one that waits, has all planned anew.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import plain_batch
from plain_batch import Profile


class Job(NamedTuple):
    """A job of `cores` equal cores that may be interrupted, and keeps nothing then."""

    submit_s: float
    run_s: float
    cores: int
    tier: int
    estimate_s: float  # at least `run_s`, and above 0


class Run(NamedTuple):
    """Times on the cores."""

    job: int
    start_s: float
    end_s: float


class Queue:
    """The waiting jobs, in order, and the starts of those that run."""

    def __init__(self, jobs: Sequence[Job], cores: int) -> None:
        self.jobs, self.cores = jobs, cores
        self.waiting: list[int] = []
        self.running: dict[int, float] = {}
        self.interrupted: list[Run] = []

    def free(self) -> int:
        return self.cores - sum(self.jobs[job].cores for job in self.running)

    def wait(self, job: int) -> None:
        self.waiting.append(job)
        self.waiting.sort(key=lambda job: (-self.jobs[job].tier, job))

    def end(self, job: int, now_s: float) -> Run:
        return Run(job, self.running.pop(job), now_s)

    def start(self, job: int, now_s: float) -> None:
        assert self.jobs[job].cores <= self.free()
        self.waiting.remove(job)
        self.running[job] = now_s

    def estimated_end_s(self, job: int) -> float:
        return self.running[job] + self.jobs[job].estimate_s

    def preempt_for_first(self, now_s: float) -> bool:
        """Interrupt jobs for the first waiting one, if it has no room; return whether any was."""
        first = self.jobs[self.waiting[0]]
        needed = first.cores - self.free()
        if needed <= 0:
            return False
        lower = [job for job in self.running if self.jobs[job].tier < first.tier]
        lower.sort(key=lambda job: (self.jobs[job].tier, -self.running[job], -job))
        chosen: list[int] = []
        while lower and sum(self.jobs[job].cores for job in chosen) < needed:
            chosen.append(lower.pop(0))
        if sum(self.jobs[job].cores for job in chosen) < needed:
            return False
        for job in sorted(chosen, key=lambda job: (self.estimated_end_s(job), job)):
            others = [other for other in chosen if other != job]
            if sum(self.jobs[other].cores for other in others) >= needed:
                chosen = others
        for job in chosen:
            self.interrupted.append(self.end(job, now_s))
            self.wait(job)
        return True

    def serve(self, now_s: float) -> None:
        """Start jobs in order, and interrupt others for the first one."""
        while self.waiting:
            if self.jobs[self.waiting[0]].cores <= self.free():
                self.start(self.waiting[0], now_s)
            elif not self.preempt_for_first(now_s):
                break

    def next_start_s(self) -> float:
        return math.inf


class Easy(Queue):
    def serve(self, now_s: float) -> None:
        super().serve(now_s)
        if self.waiting:
            jobs = [plain_batch.Job(*(each.submit_s, each.run_s, each.estimate_s, each.cores))
                    for each in self.jobs]  # fmt: skip
            plain = plain_batch.Easy(jobs, self.free())
            plain.waiting = list(self.waiting)
            plain.running = {job: self.estimated_end_s(job) for job in self.running}
            for job in plain.serve(now_s):
                self.start(job, now_s)


class Conservative(Queue):
    """Each waiting job has a place, as long as none before it is new."""

    def __init__(self, jobs: Sequence[Job], cores: int) -> None:
        super().__init__(jobs, cores)
        self.profile = Profile(cores)
        self.place_s: dict[int, float] = {}
        self.anew = self.moves = False

    def wait(self, job: int) -> None:
        super().wait(job)
        self.anew |= self.waiting[-1] != job

    def end(self, job: int, now_s: float) -> Run:
        self.profile.take(now_s, self.estimated_end_s(job), -self.jobs[job].cores)
        self.moves = True
        return super().end(job, now_s)

    def serve(self, now_s: float) -> None:
        self.profile.forget(now_s)
        while self.waiting:
            self._plan(now_s)
            if self.preempt_for_first(now_s):
                self.anew = True
                continue
            due = [job for job in self.waiting if self.place_s[job] <= now_s]
            if not due:
                return
            del self.place_s[due[0]]
            self.start(due[0], now_s)

    def _plan(self, now_s: float) -> None:
        placed = [job for job in self.waiting if job in self.place_s]
        if self.anew:
            for job in placed:
                self._take(job, -self.jobs[job].cores)
            self.place_s, placed = {}, []
        elif self.moves:
            for job in placed:
                self._take(job, -self.jobs[job].cores)
                self._place(job, now_s)
        for job in self.waiting:
            if job not in self.place_s:
                self._place(job, now_s)
        self.anew = self.moves = False

    def _place(self, job: int, now_s: float) -> None:
        each = self.jobs[job]
        plain = plain_batch.Job(each.submit_s, each.run_s, each.estimate_s, each.cores)
        self.place_s[job] = self.profile.earliest(plain, now_s)
        self._take(job, each.cores)

    def _take(self, job: int, cores: int) -> None:
        begin_s = self.place_s[job]
        self.profile.take(begin_s, begin_s + self.jobs[job].estimate_s, cores)

    def next_start_s(self) -> float:
        return min(self.place_s.values(), default=math.inf)


DISCIPLINES: dict[str, Callable[[Sequence[Job], int], Queue]] = {
    "fcfs": Queue,
    "easy": Easy,
    "conservative": Conservative,
}


def simulate(jobs: Sequence[Job], cores: int, discipline: str) -> tuple[list[Run], list[Run]]:
    """Return the interrupted runs, by their ends, and the last run of each job."""
    queue = DISCIPLINES[discipline](jobs, cores)
    last: dict[int, Run] = {}
    arrived = 0

    def end_s(job: int) -> float:
        return queue.running[job] + jobs[job].run_s

    while len(last) < len(jobs):
        submit_s = jobs[arrived].submit_s if arrived < len(jobs) else math.inf
        now_s = min([submit_s, queue.next_start_s(), *map(end_s, queue.running)])
        for job in [job for job in queue.running if end_s(job) == now_s]:
            last[job] = queue.end(job, now_s)
        while arrived < len(jobs) and jobs[arrived].submit_s == now_s:
            queue.wait(arrived)
            arrived += 1
        queue.serve(now_s)
    return queue.interrupted, [last[job] for job in range(len(jobs))]
