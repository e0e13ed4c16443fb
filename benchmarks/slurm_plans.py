"""Slurm 22.05's scheduling as plain Python, and steps from the textbook's backfilling to it.

A queue plans at given instants ("cycles"). Nodes are equal and each takes one job. Slurm's rules
are those of `sched/backfill`, and of `select/cons_tres` without a topology.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from plain_batch import Conservative, Job, Profile, Queue

WINDOW_S = 86_400  # bf_window


class Cycle(NamedTuple):
    """A cycle of a scheduler: its place in the log in ns, its clock, and which scheduler it is."""

    at: int
    now_s: int
    backfills: bool


class Arrival(NamedTuple):
    """A job: its submission, how long it ran, and how long its nodes then completed it, in ns."""

    at: int
    ran: int
    completed: int
    limit_s: int
    nodes: int


class Renewed(Conservative):
    """Conservative backfilling: places are renewed in order at each cycle."""

    def _renew(self, now_s: float) -> None:
        self.profile.forget(now_s)
        for number in self.waiting:
            self._take(number, -self.jobs[number].cores)
            self._place(number, now_s)

    def ended(self, numbers: list[int], now_s: float) -> None:
        """Release the nodes of jobs that have ended."""
        for number in numbers:
            self.profile.take(now_s, self.running[number], -self.jobs[number].cores)
        Queue.ended(self, numbers, now_s)

    def serve(self, now_s: float) -> list[int]:
        """Start all jobs whose place is now."""
        self._renew(now_s)
        return super().serve(now_s)

    def start_in_order(self, now_s: float) -> list[int]:
        """Start the first jobs, up to one whose place is later."""
        self._renew(now_s)
        started = []
        while self.waiting and self.place_s[self.waiting[0]] == now_s:
            started.append(self.waiting[0])
            del self.place_s[started[-1]]
            self.start(started[-1], now_s)
        return started


class Anew(Queue):
    """Conservative backfilling that forgets all places and plans anew at each cycle."""

    def serve(self, now_s: float) -> list[int]:
        """Start all jobs whose place is now."""
        profile, started = Profile(self.free + sum(self._cores(self.running))), []
        for number, end_s in self.running.items():
            profile.take(now_s, end_s, self.jobs[number].cores)
        for number in list(self.waiting):
            job = self.jobs[number]
            at_s = profile.earliest(job, now_s)
            profile.take(at_s, at_s + job.estimate_s, job.cores)
            if at_s == now_s:
                self.start(number, now_s)
                started.append(number)
        return started

    def _cores(self, numbers: dict[int, float]) -> list[int]:
        return [self.jobs[number].cores for number in numbers]


class OnNodes(Queue):
    """Each plan names its nodes, and jobs behind keep off these while it lasts.

    With `planned` only so many waiting jobs have a plan. A plan is the earliest possible one.
    """

    def __init__(self, jobs: Sequence[Job], cores: int, planned: float = math.inf) -> None:
        super().__init__(jobs, cores)
        self.planned = planned
        self.idle, self.nodes = set(range(cores)), dict[int, set[int]]()
        self.completing: dict[int, set[int]] = {}

    def ended(self, numbers: list[int], now_s: float) -> None:
        """Release the nodes of jobs that have ended."""
        super().ended(numbers, now_s)
        for number in numbers:
            self.completing[number] = self.nodes.pop(number)
            self.idle |= self.completing[number]

    @property
    def ready(self) -> set[int]:
        """The idle nodes that complete no job."""
        return self.idle.difference(*self.completing.values())

    def start_in_order(self, now_s: float) -> list[int]:
        """Start the first jobs, up to one without room."""
        started = []
        while self.waiting and self.jobs[self.waiting[0]].cores <= len(self.ready):
            started.append(self.waiting[0])
            self.start(started[-1], now_s)
        return started

    def start(self, number: int, now_s: float, among: set[int] | None = None) -> None:
        """Start a job on the best of the ready nodes, or of those of `among`."""
        super().start(number, now_s)
        usable = self.ready if among is None else self.ready & among
        self.nodes[number] = best_nodes(usable, self.jobs[number].cores)
        self.idle -= self.nodes[number]

    def serve(self, now_s: float) -> list[int]:
        """Start all jobs whose earliest plan is now."""
        taken: dict[int, list[tuple[float, float]]] = {
            node: [] for node in self.idle.union(*self.nodes.values())
        }
        for number, end_s in self.running.items():
            for node in self.nodes[number]:
                taken[node].append((now_s, end_s))
        started, planned = [], 0
        for number in list(self.waiting):
            job = self.jobs[number]
            for at_s in sorted({now_s, *(end_s for each in taken.values() for _, end_s in each)}):
                free = {
                    node
                    for node, each in taken.items()
                    if all(e <= at_s or b >= at_s + job.estimate_s for b, e in each)
                }
                if len(free) >= job.cores:
                    break
            if at_s == now_s:
                self.start(number, now_s, free)
                started.append(number)
            elif planned == self.planned:
                continue
            else:
                planned += 1
            nodes = self.nodes.get(number) or best_nodes(free, job.cores)
            for node in nodes:
                taken[node].append((at_s, at_s + job.estimate_s))
        return started


@dataclass
class Span:
    """The nodes without a plan from one time to another."""

    begin_s: float
    end_s: float
    free: set[int] = field(default_factory=set)


class AsSlurm(OnNodes):
    """Plans as `sched/backfill` searches for them.

    A job is tried on the nodes without plans from an instant to the end of its limit, both
    included; the instants are ends of spans between plans. On these nodes it starts once running
    jobs have ended: with `groups`, Slurm lets them end in groups of 30 s and more.
    """

    def __init__(
        self, jobs: Sequence[Job], cores: int, planned: float = math.inf, *, groups: bool = True
    ) -> None:
        super().__init__(jobs, cores, planned)
        self.groups = groups

    def serve(self, now_s: float) -> list[int]:
        """Start all jobs whose plan is now."""
        every = self.idle.union(*self.nodes.values())
        spans = [Span(now_s, now_s + WINDOW_S, every)]
        started, planned = [], 0
        for number in list(self.waiting):
            found = self._search(self.jobs[number], spans, now_s)
            if found is None:
                continue
            at_s, nodes = found
            if at_s <= now_s:
                self.start(number, now_s, nodes)
                started.append(number)
            elif at_s <= now_s + WINDOW_S and planned < self.planned:
                planned += 1
                plan(spans, at_s, at_s + self.jobs[number].estimate_s, nodes)
        return started

    def _search(self, job: Job, spans: list[Span], now_s: float) -> tuple[float, set[int]] | None:
        """Return when and where a job starts; if now, all nodes that it may choose from."""
        later_s = 0.0
        while True:
            from_s, later_s = later_s, 0.0
            usable, later_s = unplanned(spans, from_s, max(from_s, now_s) + job.estimate_s)
            if len(usable) >= job.cores and (run := self._will_run(usable, job.cores, now_s)):
                at_s, nodes = max(run[0], from_s), run[1]
                if at_s <= now_s and nodes & (self.idle - self.ready):
                    at_s, later_s = now_s + 1, 0.0
                if at_s <= now_s:
                    return at_s, usable
                if not later_s or at_s <= later_s:
                    if at_s > now_s + WINDOW_S or not collides(
                        spans, at_s, at_s + job.estimate_s, nodes
                    ):
                        return at_s, nodes
                    later_s = at_s
            if not later_s:
                return None

    def _will_run(
        self, usable: set[int], count: int, now_s: float
    ) -> tuple[float, set[int]] | None:
        """Return when enough of these nodes are free, and which of them are taken."""
        free = self.idle & usable
        if len(free) >= count:
            return now_s, best_nodes(free, count)
        ends = sorted((end_s, number) for number, end_s in self.running.items())
        window_s, barrier_s, last_s = 30, 0.0, 0.0
        for place, (end_s, number) in enumerate(ends):
            next_s = ends[place + 1][0] if place + 1 < len(ends) else math.inf
            if self.nodes[number] & usable:
                barrier_s = barrier_s or end_s + window_s - end_s % window_s
                free |= self.nodes[number] & usable
                last_s = end_s
            elif next_s < math.inf or not last_s:
                continue
            if self.groups and next_s <= barrier_s + window_s:
                continue
            if len(free) >= count:
                return last_s, best_nodes(free, count)
            window_s *= 2
            while barrier_s + window_s < next_s < math.inf:
                window_s *= 2
        return None


def unplanned(spans: list[Span], from_s: float, until_s: float) -> tuple[set[int], float]:
    """Return the nodes without a plan in this time, and when to try next (0: never)."""
    every = set().union(*(span.free for span in spans))
    usable, later_s = set(every), 0.0
    for span, after in zip(spans, [*spans[1:], None], strict=True):
        if span.end_s > from_s and after and not later_s and not after.free <= usable & span.free:
            later_s = span.end_s
        if span.end_s <= from_s:
            continue
        if span.begin_s > until_s:
            break
        usable &= span.free
    return usable, later_s


def collides(spans: list[Span], begin_s: float, end_s: float, nodes: set[int]) -> bool:
    """Return whether a plan has one of these nodes in this time."""
    return any(
        span.end_s > begin_s and span.begin_s < end_s and not nodes <= span.free for span in spans
    )


def plan(spans: list[Span], begin_s: float, end_s: float, nodes: set[int]) -> None:
    """Take nodes from one time to another; equal neighbours are joined once, as in Slurm."""
    for at_s in (begin_s, end_s):
        for place, span in enumerate(spans):
            if span.begin_s < at_s < span.end_s:
                spans[place : place + 1] = [
                    Span(span.begin_s, at_s, span.free),
                    Span(at_s, span.end_s, span.free),
                ]
                break
    for span in spans:
        if begin_s <= span.begin_s < end_s:
            span.free = span.free - nodes
    for place in range(len(spans) - 1):
        if spans[place].free == spans[place + 1].free:
            spans[place : place + 2] = [
                Span(spans[place].begin_s, spans[place + 1].end_s, spans[place].free)
            ]
            break


def best_nodes(free: set[int], count: int) -> set[int]:
    """Return nodes of the smallest run of neighbours that suffices, or else of the largest."""
    runs: list[list[int]] = []
    for node in sorted(free):
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    chosen: set[int] = set()
    while len(chosen) < count:
        needed = count - len(chosen)
        best = min(
            runs, key=lambda run: (len(run) < needed, len(run) if len(run) >= needed else -len(run))
        )
        runs.remove(best)
        chosen.update(best[:needed])
    return chosen


def replay(
    arrivals: Sequence[Arrival], cycles: Sequence[Cycle], queue: Queue, *, completes: bool = False
) -> list[int]:
    """Return the cycle at which each job starts, as its place in the log.

    With `completes` the queue learns of a job's end before its nodes have completed it. If jobs
    wait after the last cycle, cycles go on, once a second.
    """
    starts, ends, ready = [0] * len(arrivals), list[tuple[int, int]](), list[tuple[int, int]]()
    waiting = sorted(range(len(arrivals)), key=lambda number: arrivals[number].at)
    known, second = list(cycles), 1_000_000_000
    while known and not all(starts):
        cycle = known.pop(0)
        if not known:
            known = [
                Cycle(cycle.at + second, cycle.now_s + 1, any(each.backfills for each in cycles))
            ]
        while waiting and arrivals[waiting[0]].at < cycle.at:
            queue.submit(waiting.pop(0), cycle.now_s)
        ended = []
        while ends and ends[0][0] < cycle.at:
            ended.append(heapq.heappop(ends)[1])
        if ended:
            queue.ended(ended, cycle.now_s)
        if isinstance(queue, OnNodes):
            while ready and ready[0][0] < cycle.at:
                queue.completing.pop(heapq.heappop(ready)[1], None)
        serve = queue.serve if cycle.backfills else queue.start_in_order
        for number in serve(cycle.now_s):
            starts[number] = cycle.at
            job = arrivals[number]
            over = cycle.at + job.ran + job.completed
            heapq.heappush(ready, (over, number))
            heapq.heappush(ends, (cycle.at + job.ran if completes else over, number))
    return starts
