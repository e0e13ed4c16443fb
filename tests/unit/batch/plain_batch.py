"""Batch queues over a pool of equal cores, simulated plainly: the oracle of the fast simulator.

The disciplines are those of Mu'alem and Feitelson (IEEE TPDS 12(6), 2001). All ends and submissions
of one instant come before its starts. A job of no length ends at the instant of its start, and the
queue is served once more.
"""

import heapq
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple


class Job(NamedTuple):
    """A job of `cores` equal cores; `estimate_s` is at least `run_s`, and above 0."""

    submit_s: float
    run_s: float
    estimate_s: float
    cores: int


class Queue:
    """The waiting and the running jobs; a subclass decides which start.

    `waiting` holds numbers of jobs in order of submission, `running` the estimated end of each.
    """

    def __init__(self, jobs: Sequence[Job], cores: int) -> None:
        self.jobs, self.free = jobs, cores
        self.waiting: list[int] = []
        self.running: dict[int, float] = {}

    def submit(self, number: int, now_s: float) -> None:
        self.waiting.append(number)

    def ended(self, numbers: list[int], now_s: float) -> None:
        """Release the cores of jobs that end now."""
        for number in numbers:
            self.free += self.jobs[number].cores
            del self.running[number]

    def start(self, number: int, now_s: float) -> None:
        assert self.jobs[number].cores <= self.free
        self.waiting.remove(number)
        self.free -= self.jobs[number].cores
        self.running[number] = now_s + self.jobs[number].estimate_s

    def serve(self, now_s: float) -> list[int]:
        """Start jobs and return them."""
        raise NotImplementedError

    def next_start_s(self) -> float:
        """Return when a job is planned to start; infinite if none is."""
        return math.inf

    def start_in_order(self, now_s: float) -> list[int]:
        """Start the first jobs, up to one without room."""
        started = []
        while self.waiting and self.jobs[self.waiting[0]].cores <= self.free:
            started.append(self.waiting[0])
            self.start(self.waiting[0], now_s)
        return started


class FirstComeFirstServed(Queue):
    def serve(self, now_s: float) -> list[int]:
        return self.start_in_order(now_s)


class AnyFit(Queue):
    """Every waiting job with room starts."""

    def serve(self, now_s: float) -> list[int]:
        started = []
        for number in list(self.waiting):
            if self.jobs[number].cores <= self.free:
                self.start(number, now_s)
                started.append(number)
        return started


class Easy(Queue):
    """A job may overtake if it does not delay the first one, as far as estimates tell."""

    def serve(self, now_s: float) -> list[int]:
        started = self.start_in_order(now_s)
        if not self.waiting:
            return started
        shadow_s, extra = self.shadow()
        for number in self.waiting[1:]:
            job = self.jobs[number]
            if job.cores > self.free:
                continue
            if now_s + job.estimate_s > shadow_s:
                if job.cores > extra:
                    continue
                extra -= job.cores
            self.start(number, now_s)
            started.append(number)
        return started

    def shadow(self) -> tuple[float, int]:
        """Return when the first waiting job fits, and the cores that it leaves free then."""
        needed, free = self.jobs[self.waiting[0]].cores, self.free
        ends = sorted((end_s, self.jobs[number].cores) for number, end_s in self.running.items())
        for end_s, together in groupby(ends, key=itemgetter(0)):
            free += sum(cores for _, cores in together)
            if free >= needed:
                return end_s, free - needed
        raise AssertionError("a job is larger than the machine")


class Profile:
    """The free cores from `times[i]` to `times[i + 1]`, as planned."""

    def __init__(self, cores: int) -> None:
        self.times, self.free = [-math.inf], [cores]

    def _cut(self, at_s: float) -> int:
        """Return the index of a step that begins at `at_s`."""
        index = bisect_left(self.times, at_s)
        if index == len(self.times) or self.times[index] != at_s:
            self.times.insert(index, at_s)
            self.free.insert(index, self.free[index - 1])
        return index

    def take(self, begin_s: float, end_s: float, cores: int) -> None:
        """Take cores from `begin_s` to `end_s`; a negative number gives them back."""
        if begin_s < end_s:
            for index in range(self._cut(begin_s), self._cut(end_s)):
                self.free[index] -= cores
                assert self.free[index] >= 0

    def earliest(self, job: Job, now_s: float) -> float:
        """Return the first time from `now_s` on with room for a job over its whole estimate."""
        begin_s = now_s
        for index, free in enumerate(self.free):
            until_s = self.times[index + 1] if index + 1 < len(self.times) else math.inf
            if until_s <= now_s:
                continue
            if self.times[index] > begin_s and self.times[index] >= begin_s + job.estimate_s:
                return begin_s
            if free < job.cores:
                begin_s = until_s
        return begin_s

    def forget(self, before_s: float) -> None:
        """Drop steps that end before a time."""
        while len(self.times) > 1 and self.times[1] <= before_s:
            del self.times[0], self.free[0]


class Conservative(Queue):
    """A job may overtake if it delays none before it: each has a place from its submission on."""

    def __init__(self, jobs: Sequence[Job], cores: int) -> None:
        super().__init__(jobs, cores)
        self.profile = Profile(cores)
        self.place_s: dict[int, float] = {}  # of waiting jobs
        self.promised_s: dict[int, float] = {}  # the first place of each job
        self.may_move = False

    def submit(self, number: int, now_s: float) -> None:
        super().submit(number, now_s)
        self._place(number, now_s)
        self.promised_s[number] = self.place_s[number]

    def _place(self, number: int, now_s: float) -> None:
        job = self.jobs[number]
        self.place_s[number] = self.profile.earliest(job, now_s)
        self._take(number, job.cores)

    def _take(self, number: int, cores: int) -> None:
        begin_s = self.place_s[number]
        self.profile.take(begin_s, begin_s + self.jobs[number].estimate_s, cores)

    def ended(self, numbers: list[int], now_s: float) -> None:
        """Free what estimates had too much; waiting jobs move up in order of submission.

        None can move when nothing was freed since none did.
        """
        self.profile.forget(now_s)
        for number in numbers:
            self.profile.take(now_s, self.running[number], -self.jobs[number].cores)
            self.may_move |= now_s < self.running[number]
        super().ended(numbers, now_s)
        if self.may_move:
            before_s = dict(self.place_s)
            for number in self.waiting:
                self._take(number, -self.jobs[number].cores)
                self._place(number, now_s)
                assert self.place_s[number] <= before_s[number]
            self.may_move = self.place_s != before_s

    def serve(self, now_s: float) -> list[int]:
        started = [number for number in self.waiting if self.place_s[number] <= now_s]
        for number in started:
            assert self.place_s.pop(number) == now_s  # no start is missed
            self.start(number, now_s)
        return started

    def next_start_s(self) -> float:
        return min(self.place_s.values(), default=math.inf)


DISCIPLINES: dict[str, Callable[[Sequence[Job], int], Queue]] = {
    "fcfs": FirstComeFirstServed,
    "any": AnyFit,
    "easy": Easy,
    "conservative": Conservative,
}


def start_times(jobs: Sequence[Job], cores: int, discipline: str) -> list[float]:
    """Return when each job starts; jobs are in order of submission, none larger than the pool."""
    return simulate(jobs, DISCIPLINES[discipline](jobs, cores))


def simulate(jobs: Sequence[Job], queue: Queue) -> list[float]:
    """Return when each job starts on an empty queue."""
    starts = [math.nan] * len(jobs)
    ends: list[tuple[float, int]] = []
    submitted = 0
    while submitted < len(jobs) or ends or queue.waiting:
        next_submit_s = jobs[submitted].submit_s if submitted < len(jobs) else math.inf
        next_end_s = ends[0][0] if ends else math.inf
        now_s = min(next_submit_s, next_end_s, queue.next_start_s())
        ended = []
        while ends and ends[0][0] == now_s:
            ended.append(heapq.heappop(ends)[1])
        if ended:
            queue.ended(ended, now_s)
        while submitted < len(jobs) and jobs[submitted].submit_s == now_s:
            queue.submit(submitted, now_s)
            submitted += 1
        for number in queue.serve(now_s):
            starts[number] = now_s
            heapq.heappush(ends, (now_s + jobs[number].run_s, number))
    return starts
