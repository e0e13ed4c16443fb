"""The simulator in plain Python: it checks the kernel and runs users' policies.

Clarity comes first: every instant integrates the power of all nodes, considers all waiting jobs,
and calls the policy's own methods. The order of events is the kernel's (kernel.loop).
"""

import bisect
import heapq
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from trimtab.policies import layout
from trimtab.policies.base import PendingTask, Placement, Policy, RunningTask
from trimtab.policies.layout import INFINITY
from trimtab.policies.sprint_budget import SprintBudget
from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.batches import Batch, End, LoadRow, SimulationRequest
from trimtab.simulation.kernel.model import outage_events
from trimtab.simulation.reference.system import NodeShare, SimulatedJob, System
from trimtab.simulation.resampling import resampled_s

_BATCH = 1 << 14


class ReferenceSimulator:
    """The plain simulator, with the same results as KernelSimulator."""

    def __init__(self, arrivals: Arrivals, policy: Policy, demand: SimulationRequest) -> None:
        self._arrivals, self._policy, self._demand = arrivals, policy, demand
        self._classes = arrivals.job_classes
        self._system = System(arrivals)
        self._outages = [event.tolist() for event in outage_events(arrivals.cluster)]
        self._jobs: dict[int, SimulatedJob] = {}
        self._waiting: list[tuple[int, int]] = []  # (-priority or 0, job), sorted
        self._running: dict[int, SimulatedJob] = {}  # in the order of starts
        self._heap: list[tuple[float, int, int]] = []  # (time, kind, job), some outdated
        self._now_s, self._events = 0.0, 0
        self._timeout_s, self._sprint_level = policy.timeout_s, policy.sprint_level
        self._budget = SprintBudget(policy.budget_s, policy.replenish_s_per_s)
        self._rows: list[tuple[Any, ...]] = []
        self._allocations: list[tuple[Any, ...]] = []
        self._load: list[LoadRow] = []

    def run(self, frames: Iterable[pd.DataFrame]) -> Iterator[Batch]:
        """Simulate the trace and yield batches, in order."""
        arrivals = self._arriving(frames)
        coming = next(arrivals, None)
        tick_s, changed = self._policy.tick_s, False
        sample_s, maintain_s = self._demand.sample_s, self._demand.maintain_s
        while True:
            while self._heap and not self._is_due(self._heap[0]):
                heapq.heappop(self._heap)
            times = [
                self._heap[0][0] if self._heap else INFINITY,
                self._outages[0][0] if self._outages else INFINITY,
                self._budget.empty_s,
                coming.arrival_s if coming else INFINITY,
                tick_s,
                sample_s,
                maintain_s,
            ]
            time_s = min(times)
            what = times.index(time_s)
            if changed and (time_s > self._now_s or what >= 4):
                self._dispatch()
                changed = False
                continue
            if not self._heap and not coming and not (self._waiting and self._outages):
                yield self._batch()
                return
            self._pass(time_s)
            if what == 0:
                changed |= self._own_event()
            elif what == 1:
                self._outage()
                changed = True
            elif what == 2:
                self._stop_sprints()
            elif what == 3:
                assert coming
                self._jobs[coming.task.job] = coming
                bisect.insort(self._waiting, self._key(coming))
                coming, changed = next(arrivals, None), True
            elif what == 4:
                self._reconsider()
                tick_s += self._policy.tick_s
                changed = True
            elif what == 5:
                counts = len(self._waiting), len(self._running)
                self._load.append(self._system.load(time_s, *counts))
                sample_s += self._demand.sample_s
            else:
                batch = self._batch()
                yield batch
                assert self._demand.maintain
                self._policy = self._demand.maintain(batch.rows, time_s) or self._policy
                maintain_s += self._demand.maintain_s
            if len(self._rows) >= _BATCH and self._demand.maintain is None:
                yield self._batch()

    def end(self) -> End:
        """Return the end of the simulation."""
        down_s = [
            node.down_s + (0.0 if node.up else self._now_s - node.down_since_s)
            for node in self._system.nodes
        ]
        busy_core_s, *others = (
            np.array([getattr(node, name) for node in self._system.nodes])
            for name in ("busy_core_s", "active_j", "free_gpu_s", "fragmented_gpu_s")
        )
        numbers = self._now_s, len(self._waiting), self._events
        return End(*numbers, busy_core_s, np.array(down_s), *others)

    def _arriving(self, frames: Iterable[pd.DataFrame]) -> Iterator[SimulatedJob]:
        for frame in frames:
            chunk = self._arrivals.chunk(frame)
            for job, number, arrival_s, work_s, dropped in chunk.tolist():
                shape = self._arrivals.shapes[number].tolist()[:5]
                yield SimulatedJob(PendingTask(job, *shape), arrival_s, work_s, dropped, work_s)

    def _is_due(self, event: tuple[float, int, int]) -> bool:
        time_s, kind, job = event
        return job in self._running and self._running[job].times.get(kind) == time_s

    def _at(self, job: SimulatedJob, kind: int, time_s: float) -> None:
        job.times[kind] = time_s
        if time_s < INFINITY:
            heapq.heappush(self._heap, (time_s, kind, job.task.job))

    def _key(self, job: SimulatedJob) -> tuple[int, int]:
        return (-job.task.priority if self._policy.by_priority else 0, job.task.job)

    # Power and time

    def _pass(self, time_s: float) -> None:
        """Advance time: integrate the power of every node."""
        elapsed, self._now_s = time_s - self._now_s, time_s
        self._events += 1
        if elapsed > 0:
            self._system.integrate(elapsed)

    def _advance(self, job: SimulatedJob) -> None:
        """Subtract the work done until now from the remaining work."""
        if self._now_s > job.since_s:
            done = (self._now_s - job.since_s) * self._system.speed(job)
            job.left_s, job.since_s = max(0.0, job.left_s - done), self._now_s

    # Places

    def _reserve(
        self, job: SimulatedJob, placement: Placement, draw: int
    ) -> tuple[NodeShare, float]:
        """Reserve a place and begin its set-up; return it, and the time it will be ready."""
        place = self._system.place(job, placement, self._now_s)
        node, pull_s = place.node, 0.0
        if self._system.has_image(node, job.task):
            place.drawing = True
        else:
            pull_s = float(self._system.sites[job.task.job_class, node.kind]["pull_s"])
            self._at(job, draw, self._now_s + pull_s)
        return place, self._now_s + pull_s + self._classes[job.task.job_class].cold_start_s

    def _release(self, place: NodeShare, end: int, ready_s: float = INFINITY) -> None:
        """Release a place and record the allocation."""
        now_s, task = self._now_s, place.job.task
        place.node.places.remove(place)
        place.node.busy_core_s += task.cpu_milli * 1e-3 * (now_s - place.since_s)
        if self._demand.allocations:
            ready_s = max(ready_s, place.since_s) if ready_s <= now_s else math.nan
            numbers = (task.job, place.node.number, place.level, task.cpu_milli)
            self._allocations.append((*numbers, place.since_s, ready_s, now_s, end))

    # Jobs

    def _dispatch(self) -> None:
        at = 0
        while at < len(self._waiting):
            key = self._waiting[at]
            job = self._jobs[key[1]]
            placement = self._placement(job)
            if placement:
                self._waiting.remove(key)
                self._start(job, placement)
                at = bisect.bisect(self._waiting, key)
            elif self._policy.head_of_line:
                return
            else:
                at += 1

    def _placement(self, job: SimulatedJob) -> Placement | None:
        nodes = self._system.with_room(job.task)
        if nodes:
            return self._policy.place(job.task, nodes)
        candidates = [
            self._view(other)
            for other in self._running.values()
            if other.here
            and self._system.takes(
                self._system.state(other.here.node, job.task, without=other), job.task
            )
        ]
        victim = self._policy.evict(job.task, candidates)
        if victim is None:
            return None
        self._evict(self._jobs[victim.task.job], layout.EVICTED)
        return self._policy.place(job.task, self._system.with_room(job.task))

    def _view(self, job: SimulatedJob) -> RunningTask:
        assert job.here
        return RunningTask(job.task, job.here.node.number, job.here.level, job.begun_s)

    def _start(self, job: SimulatedJob, placement: Placement) -> None:
        job.times = {}
        job.here, job.ready_s = self._reserve(job, placement, layout.DRAW)
        job.begun_s, job.since_s = self._now_s, job.ready_s
        job.first_s = self._now_s if job.first_s is None else job.first_s
        job.set_up_s += job.ready_s - self._now_s
        self._running[job.task.job] = job
        name = self._classes[job.task.job_class].name
        self._at(job, layout.SPRINT, self._now_s + self._timeout_s.get(name, INFINITY))
        self._at(job, layout.FINISH, job.ready_s + job.left_s / self._system.speed(job))

    def _leave(self, job: SimulatedJob, end: int) -> None:
        assert job.here
        self._forsake(job)
        self._release(job.here, end, job.ready_s)
        if self._now_s < job.ready_s:
            job.set_up_s -= job.ready_s - self._now_s
        self._end_sprint(job)
        del self._running[job.task.job]

    def _forsake(self, job: SimulatedJob) -> None:
        if job.there:
            self._release(job.there, layout.MIGRATED)
            job.there = None
            job.times[layout.DRAW_THERE] = job.times[layout.SWITCH] = INFINITY

    def _own_event(self) -> bool:
        """Handle the event at the top of the heap; return whether it freed resources."""
        _, kind, number = heapq.heappop(self._heap)
        job = self._running[number]
        del job.times[kind]
        if kind == layout.FINISH:
            self._finish(job)
        elif kind == layout.SWITCH:
            assert job.there
            site = self._system.sites[job.task.job_class, job.there.node.kind]
            self._switch(job, float(site["pause_s"]))
        elif kind == layout.SPRINT:
            self._sprint(job)
        else:
            place = job.here if kind == layout.DRAW else job.there
            assert place
            place.node.images.add(job.task.job_class)
            place.drawing = True
        return kind in (layout.FINISH, layout.SWITCH)

    def _finish(self, job: SimulatedJob) -> None:
        self._leave(job, layout.FINISHED)
        assert job.here
        task, now_s = job.task, self._now_s
        self._rows.append(
            (
                *(task.job, task.job_class, task.priority, task.cpu_milli),
                *(job.arrival_s, job.first_s, now_s, now_s - job.arrival_s),
                *(job.kept_s + (now_s - job.begun_s), job.wasted_s, job.set_up_s),
                *(job.sprinted_s, job.dropped, job.evictions, job.migrations),
                *(job.here.node.number, job.here.level, job.energy_j),
            )
        )
        del self._jobs[task.job]

    def _evict(self, job: SimulatedJob, end: int) -> None:
        spent_s = self._now_s - job.begun_s
        self._advance(job)
        self._leave(job, end)
        job.evictions += 1
        if self._policy.resumes and end == layout.EVICTED:
            job.kept_s += spent_s
        else:
            job.wasted_s += job.kept_s + spent_s
            if self._policy.resamples:
                times, task = self._arrivals.service_times, job.task
                job.work_s = resampled_s(*times, task.job_class, task.job, job.evictions)
            job.kept_s, job.left_s = 0.0, job.work_s
        bisect.insort(self._waiting, self._key(job))

    def _outage(self) -> None:
        _, number, up = self._outages.pop(0)
        node = self._system.nodes[number]
        if up:
            node.up = True
            node.down_s += self._now_s - node.down_since_s
            return
        node.up, node.down_since_s = False, self._now_s
        for job in list(self._running.values()):
            if job.here and job.here.node is node:
                self._evict(job, layout.FAILED)
            elif job.there and job.there.node is node:
                self._forsake(job)

    # Levels and sprints

    def _change_level(self, job: SimulatedJob, level: int) -> None:
        self._advance(job)
        assert job.here
        old = job.here
        self._release(old, layout.LEVEL, job.ready_s)
        job.here = NodeShare(job, old.node, level, self._now_s, old.gpus, old.drawing)
        old.node.places.append(job.here)
        self._at(job, layout.FINISH, job.since_s + job.left_s / self._system.speed(job))

    def _sprinters(self) -> list[SimulatedJob]:
        return [job for job in self._running.values() if job.sprinting]

    def _sprint(self, job: SimulatedJob) -> None:
        assert job.here
        self._budget.settle(self._now_s, len(self._sprinters()))
        level = self._system.level(job.here.node, self._sprint_level)
        if self._budget.left_s > 0 and level != job.here.level:
            self._change_level(job, level)
            job.sprinting = True
        self._budget.foresee_empty(self._now_s, len(self._sprinters()))

    def _end_sprint(self, job: SimulatedJob) -> None:
        if job.sprinting:
            assert job.here
            self._budget.settle(self._now_s, len(self._sprinters()))
            job.sprinting = False
            job.sprinted_s += self._now_s - job.here.since_s
            self._budget.foresee_empty(self._now_s, len(self._sprinters()))

    def _stop_sprints(self) -> None:
        for job in self._sprinters():
            assert job.here
            self._end_sprint(job)
            self._change_level(job, self._system.level(job.here.node, self._policy.level))
        self._budget.left_s = 0.0

    # Ticks

    def _reconsider(self) -> None:
        asked = [self._jobs[number].task for _, number in self._waiting]
        if self._policy.hold_when_pending and asked and self._system.has_more_than(asked):
            return
        for job in list(self._running.values()):
            if job.ready_s > self._now_s or job.there:
                continue
            placement = self._policy.reconsider(
                self._view(job), self._system.with_room(job.task, job)
            )
            assert job.here
            if placement is None:
                continue
            node = self._system.nodes[placement.node]
            level = self._system.level(node, placement.level)
            if node is not job.here.node:
                self._move(job, placement)
            elif level != job.here.level:
                self._change_level(job, level)

    def _move(self, job: SimulatedJob, placement: Placement) -> None:
        if self._policy.free_migration:
            job.there = self._system.place(job, placement, self._now_s)
            job.there.drawing = True
            self._switch(job, 0.0)
            return
        job.there, ready_s = self._reserve(job, placement, layout.DRAW_THERE)
        self._at(job, layout.SWITCH, ready_s)

    def _switch(self, job: SimulatedJob, pause_s: float) -> None:
        assert job.here and job.there
        self._advance(job)
        self._end_sprint(job)
        self._release(job.here, layout.MIGRATED, job.ready_s)
        job.here, job.there = job.there, None
        job.times[layout.DRAW_THERE] = job.times[layout.SWITCH] = INFINITY
        job.migrations += 1
        if self._policy.restarts_moved:
            pause_s = 0.0
            job.wasted_s += job.kept_s + (self._now_s - job.begun_s)
            job.kept_s, job.left_s, job.begun_s = 0.0, job.work_s, self._now_s
        if pause_s > 0:
            job.here.drawing = False
            self._at(job, layout.DRAW, self._now_s + pause_s)
        job.ready_s = job.since_s = self._now_s + pause_s
        job.set_up_s += job.ready_s - self._now_s
        self._at(job, layout.FINISH, job.ready_s + job.left_s / self._system.speed(job))

    # Output

    def _batch(self) -> Batch:
        rows, allocations = (
            np.array(self._rows, layout.FINISHED_ROW),
            np.array(self._allocations, layout.ALLOCATION_ROW),
        )
        batch = Batch(rows, allocations, self._load)
        self._rows, self._allocations, self._load = [], [], []
        return batch
