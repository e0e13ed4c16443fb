"""The simulator in plain Python: what the kernel is checked by, and what runs users' policies.

Clarity first: every instant integrates the power of every node, looks at every waiting job, and
asks the policy's own methods. The order of events is the kernel's (engine.kernel).
"""

import bisect
import copy
import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from trimtab.scheduling.engine.arrivals import Arrivals
from trimtab.scheduling.engine.batches import Batch, Demand, End, LoadRow, load_row
from trimtab.scheduling.engine.layout import (
    DRAW,
    DRAW_THERE,
    EVICTED,
    FAILED,
    FINISH,
    FINISHED,
    FINISHED_ROW,
    LEVEL,
    MIGRATED,
    SPRINT,
    STAY_ROW,
    SWITCH,
    never,
)
from trimtab.scheduling.engine.model import class_tables, outage_events
from trimtab.scheduling.policies.base import NodeState, Placement, Policy, Running, Task
from trimtab.scheduling.policies.dias import Dias

_BATCH = 1 << 14
_KINDS = {"finish": FINISH, "draw": DRAW, "draw there": DRAW_THERE}
_KINDS |= {"switch": SWITCH, "sprint": SPRINT}


@dataclass(eq=False)
class _Node:
    """A node, and the places on it."""

    number: int
    kind: int
    places: list["_Place"] = field(default_factory=list)
    images: set[int] = field(default_factory=set)
    up: bool = True
    down_since_s: float = 0.0
    down_s: float = 0.0
    active_j: float = 0.0
    busy_core_s: float = 0.0


@dataclass(eq=False)
class _Place:
    """A job's share of a node since `since_s` at one level; `drawing`: it takes power."""

    job: "_Job"
    node: _Node
    level: int
    since_s: float
    drawing: bool = False


@dataclass(eq=False)
class _Job:
    """A job in the system. `times` are its own events to come, by kind."""

    task: Task
    arrival_s: float
    work_s: float
    dropped: int
    left_s: float
    times: dict[int, float] = field(default_factory=dict)
    here: _Place | None = None
    there: _Place | None = None
    first_s: float | None = None
    begun_s: float = 0.0
    since_s: float = 0.0
    ready_s: float = 0.0
    sprinting: bool = False
    kept_s: float = 0.0
    wasted_s: float = 0.0
    set_up_s: float = 0.0
    sprinted_s: float = 0.0
    energy_j: float = 0.0
    evictions: int = 0
    migrations: int = 0


class ReferenceEngine:
    """The plain simulator; it gives what KernelEngine gives."""

    def __init__(self, arrivals: Arrivals, policy: Policy, demand: Demand) -> None:
        self._arrivals, self._demand = arrivals, demand
        self._policy = copy.deepcopy(policy)  # a policy may remember where it was
        self._types, self._classes = arrivals.cluster.node_types, arrivals.job_classes
        self._paces, self._sites = class_tables(arrivals.cluster, self._classes)
        self._outages = [event.tolist() for event in outage_events(arrivals.cluster)]
        self._nodes = [_Node(*pair) for pair in enumerate(arrivals.cluster.type_of_node.tolist())]
        self._jobs: dict[int, _Job] = {}
        self._waiting: list[tuple[int, int]] = []  # (-priority or 0, job), sorted
        self._running: dict[int, _Job] = {}  # in the order of starts
        self._heap: list[tuple[float, int, int]] = []  # (time, kind, job), some of them void
        self._now_s, self._events = 0.0, 0
        dias = self._policy if isinstance(self._policy, Dias) else None
        self._timeout_s = dias.timeout_s if dias else {}
        self._sprint_level = dias.sprint_level if dias else -1
        self._full_budget_s = self._budget_s = dias.budget_s if dias else math.inf
        self._replenish = dias.replenish_s_per_s if dias else 0.0
        self._budget_at_s, self._empty_s = 0.0, never
        self._rows: list[tuple[Any, ...]] = []
        self._stays: list[tuple[Any, ...]] = []
        self._load: list[LoadRow] = []

    def run(self, frames: Iterable[pd.DataFrame]) -> Iterator[Batch]:
        """Simulate the trace and yield what comes out, in order."""
        arrivals = self._arriving(frames)
        coming = next(arrivals, None)
        tick_s, changed = self._policy.tick_s, False
        sample_s, maintain_s = self._demand.sample_s, self._demand.maintain_s
        while True:
            while self._heap and not self._is_due(self._heap[0]):
                heapq.heappop(self._heap)
            times = [
                self._heap[0][0] if self._heap else never,
                self._outages[0][0] if self._outages else never,
                self._empty_s,
                coming.arrival_s if coming else never,
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
                self._sample()
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
        """Return how it ended."""
        down_s = [
            node.down_s + (0.0 if node.up else self._now_s - node.down_since_s)
            for node in self._nodes
        ]
        columns = (
            np.array([node.busy_core_s for node in self._nodes]),
            np.array(down_s),
            np.array([node.active_j for node in self._nodes]),
        )
        return End(self._now_s, len(self._waiting), self._events, *columns)

    def _arriving(self, frames: Iterable[pd.DataFrame]) -> Iterator[_Job]:
        for frame in frames:
            chunk = self._arrivals.chunk(frame)
            for job, number, arrival_s, work_s, dropped in zip(
                *(column.tolist() for column in chunk), strict=True
            ):
                shape = self._arrivals.shapes[number].tolist()[:5]
                yield _Job(Task(job, *shape), arrival_s, work_s, dropped, work_s)

    def _is_due(self, event: tuple[float, int, int]) -> bool:
        time_s, kind, job = event
        return job in self._running and self._running[job].times.get(kind) == time_s

    def _at(self, job: _Job, kind: int, time_s: float) -> None:
        job.times[kind] = time_s
        if time_s < never:
            heapq.heappush(self._heap, (time_s, kind, job.task.job))

    def _key(self, job: _Job) -> tuple[int, int]:
        return (-job.task.priority if self._policy.by_priority else 0, job.task.job)

    # Power and time

    def _pass(self, time_s: float) -> None:
        """Let time pass: integrate the power of every node."""
        elapsed, self._now_s = time_s - self._now_s, time_s
        self._events += 1
        if elapsed > 0:
            for node in self._nodes:
                for place, watts in self._powers(node):
                    node.active_j += watts * elapsed
                    place.job.energy_j += watts * elapsed

    def _powers(self, node: _Node) -> list[tuple[_Place, float]]:
        """Return the active power of each place on a node that draws some."""
        drawing = [place for place in node.places if place.drawing]
        node_type = self._types[node.kind]
        load = sum(place.job.task.cpu_milli for place in drawing) / node_type.cpu_milli
        factor = 1.0
        if node_type.load_curve and load > 0:
            factor = float(np.interp(load, np.linspace(0, 1, 11), node_type.load_curve)) / load
        powers = []
        for place in drawing:
            pace = self._paces[place.job.task.job_class, node.kind, place.level]
            share = place.job.task.cpu_milli / node_type.cpu_milli
            gpus = place.job.task.gpu_milli / 1000
            watts = factor * share * float(pace["watts"]) + gpus * float(pace["gpu_watts"])
            powers.append((place, watts))
        return powers

    def _speed(self, job: _Job) -> float:
        assert job.here
        here = job.here
        return float(self._paces[job.task.job_class, here.node.kind, here.level]["speed"])

    def _advance(self, job: _Job) -> None:
        """Take the work done until now from what is left."""
        if self._now_s > job.since_s:
            done = (self._now_s - job.since_s) * self._speed(job)
            job.left_s, job.since_s = max(0.0, job.left_s - done), self._now_s

    # Places

    def _free(self, node: _Node, without: _Job | None = None) -> tuple[int, int, int]:
        node_type = self._types[node.kind]
        tasks = [place.job.task for place in node.places if place.job is not without]
        return (
            node_type.cpu_milli - sum(task.cpu_milli for task in tasks),
            node_type.gpu_milli - sum(task.gpu_milli for task in tasks),
            node_type.memory_bytes - sum(task.memory_bytes for task in tasks),
        )

    def _state(self, node: _Node, task: Task, without: _Job | None = None) -> NodeState:
        node_type = self._types[node.kind]
        return NodeState(
            node.number,
            node.kind,
            node_type.cpu_milli,
            node_type.memory_bytes,
            *self._free(node, without),
            has_image=self._has_image(node, task),
        )

    def _with_room(self, task: Task, without: _Job | None = None) -> list[NodeState]:
        own = without.here.node if without and without.here else None
        states = [
            self._state(node, task, without if node is own else None)
            for node in self._nodes
            if node.up
        ]
        return [state for state in states if state.has_room(task)]

    def _has_image(self, node: _Node, task: Task) -> bool:
        pull_s = self._sites[task.job_class, node.kind]["pull_s"]
        return bool(pull_s == 0) or task.job_class in node.images

    def _level(self, node: _Node, level: int) -> int:
        return level + len(self._types[node.kind].levels) if level < 0 else level

    def _reserve(self, job: _Job, placement: Placement, draw: int) -> tuple[_Place, float]:
        """Take a place and begin to set it up; return it, and when it will be ready."""
        node = self._nodes[placement.node]
        place = _Place(job, node, self._level(node, placement.level), self._now_s)
        node.places.append(place)
        pull_s = 0.0
        if self._has_image(node, job.task):
            place.drawing = True
        else:
            pull_s = float(self._sites[job.task.job_class, node.kind]["pull_s"])
            self._at(job, draw, self._now_s + pull_s)
        return place, self._now_s + pull_s + self._classes[job.task.job_class].cold_start_s

    def _release(self, place: _Place, end: int, ready_s: float = never) -> None:
        """Give a place back and record the stay."""
        now_s, task = self._now_s, place.job.task
        place.node.places.remove(place)
        place.node.busy_core_s += task.cpu_milli * 1e-3 * (now_s - place.since_s)
        if self._demand.stays:
            ready_s = max(ready_s, place.since_s) if ready_s <= now_s else math.nan
            numbers = (task.job, place.node.number, place.level, task.cpu_milli)
            self._stays.append((*numbers, place.since_s, ready_s, now_s, end))

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

    def _placement(self, job: _Job) -> Placement | None:
        nodes = self._with_room(job.task)
        if nodes:
            return self._policy.place(job.task, nodes)
        candidates = [self._view(other) for other in self._running.values()]
        candidates = [one for one in candidates if self._makes_room(one, job.task)]
        victim = self._policy.evict(job.task, candidates)
        if victim is None:
            return None
        self._evict(self._jobs[victim.task.job], EVICTED)
        return self._policy.place(job.task, self._with_room(job.task))

    def _view(self, job: _Job) -> Running:
        assert job.here
        return Running(job.task, job.here.node.number, job.here.level, job.begun_s)

    def _makes_room(self, running: Running, task: Task) -> bool:
        job, node = self._jobs[running.task.job], self._nodes[running.node]
        return self._state(node, task, without=job).has_room(task)

    def _start(self, job: _Job, placement: Placement) -> None:
        job.times = {}
        job.here, job.ready_s = self._reserve(job, placement, DRAW)
        job.begun_s, job.since_s = self._now_s, job.ready_s
        job.first_s = self._now_s if job.first_s is None else job.first_s
        job.set_up_s += job.ready_s - self._now_s
        self._running[job.task.job] = job
        name = self._classes[job.task.job_class].name
        self._at(job, SPRINT, self._now_s + self._timeout_s.get(name, never))
        self._at(job, FINISH, job.ready_s + job.left_s / self._speed(job))

    def _leave(self, job: _Job, end: int) -> None:
        assert job.here
        self._forsake(job)
        self._release(job.here, end, job.ready_s)
        if self._now_s < job.ready_s:
            job.set_up_s -= job.ready_s - self._now_s
        self._end_sprint(job)
        del self._running[job.task.job]

    def _forsake(self, job: _Job) -> None:
        if job.there:
            self._release(job.there, MIGRATED)
            job.there = None
            job.times[DRAW_THERE] = job.times[SWITCH] = never

    def _own_event(self) -> bool:
        """Take the event at the top of the heap; return whether it freed something."""
        _, kind, number = heapq.heappop(self._heap)
        job = self._running[number]
        del job.times[kind]
        if kind == FINISH:
            self._finish(job)
        elif kind == SWITCH:
            assert job.there
            site = self._sites[job.task.job_class, job.there.node.kind]
            self._switch(job, float(site["pause_s"]))
        elif kind == SPRINT:
            self._sprint(job)
        else:
            place = job.here if kind == DRAW else job.there
            assert place
            place.node.images.add(job.task.job_class)
            place.drawing = True
        return kind in (FINISH, SWITCH)

    def _finish(self, job: _Job) -> None:
        self._leave(job, FINISHED)
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

    def _evict(self, job: _Job, end: int) -> None:
        spent_s = self._now_s - job.begun_s
        self._advance(job)
        self._leave(job, end)
        job.evictions += 1
        if self._policy.resumes and end == EVICTED:
            job.kept_s += spent_s
        else:
            job.wasted_s += job.kept_s + spent_s
            job.kept_s, job.left_s = 0.0, job.work_s
        bisect.insort(self._waiting, self._key(job))

    def _outage(self) -> None:
        _, number, up = self._outages.pop(0)
        node = self._nodes[number]
        if up:
            node.up = True
            node.down_s += self._now_s - node.down_since_s
            return
        node.up, node.down_since_s = False, self._now_s
        for job in list(self._running.values()):
            if job.here and job.here.node is node:
                self._evict(job, FAILED)
            elif job.there and job.there.node is node:
                self._forsake(job)

    # Levels and sprints

    def _change_level(self, job: _Job, level: int) -> None:
        self._advance(job)
        assert job.here
        old = job.here
        self._release(old, LEVEL, job.ready_s)
        job.here = _Place(job, old.node, level, self._now_s, old.drawing)
        old.node.places.append(job.here)
        self._at(job, FINISH, job.since_s + job.left_s / self._speed(job))

    def _sprinters(self) -> list[_Job]:
        return [job for job in self._running.values() if job.sprinting]

    def _settle_budget(self) -> None:
        elapsed = self._now_s - self._budget_at_s
        budget_s = self._budget_s + (self._replenish - len(self._sprinters())) * elapsed
        self._budget_s = min(self._full_budget_s, max(0.0, budget_s))
        self._budget_at_s = self._now_s

    def _foresee_empty(self) -> None:
        drain = len(self._sprinters()) - self._replenish
        self._empty_s = self._now_s + self._budget_s / drain if drain > 0 else never

    def _sprint(self, job: _Job) -> None:
        assert job.here
        self._settle_budget()
        level = self._level(job.here.node, self._sprint_level)
        if self._budget_s > 0 and level != job.here.level:
            self._change_level(job, level)
            job.sprinting = True
        self._foresee_empty()

    def _end_sprint(self, job: _Job) -> None:
        if job.sprinting:
            assert job.here
            self._settle_budget()
            job.sprinting = False
            job.sprinted_s += self._now_s - job.here.since_s
            self._foresee_empty()

    def _stop_sprints(self) -> None:
        for job in self._sprinters():
            assert job.here
            self._end_sprint(job)
            level = getattr(self._policy, "level", -1)
            self._change_level(job, self._level(job.here.node, level))
        self._budget_s = 0.0

    # Ticks

    def _reconsider(self) -> None:
        if getattr(self._policy, "hold_when_pending", False) and self._waiting:
            asked = [self._jobs[number].task for _, number in self._waiting]
            free = np.sum([self._free(node) for node in self._nodes if node.up] or [(0, 0, 0)], 0)
            cpu = sum(task.cpu_milli for task in asked)
            gpu = sum(task.gpu_milli for task in asked)
            memory = sum(task.memory_bytes for task in asked)
            if free[0] > cpu and free[1] >= gpu and free[2] > memory:
                return
        for job in list(self._running.values()):
            if job.ready_s > self._now_s or job.there:
                continue
            placement = self._policy.reconsider(self._view(job), self._with_room(job.task, job))
            assert job.here
            if placement is None:
                continue
            node = self._nodes[placement.node]
            level = self._level(node, placement.level)
            if node is not job.here.node:
                self._move(job, placement)
            elif level != job.here.level:
                self._change_level(job, level)

    def _move(self, job: _Job, placement: Placement) -> None:
        if getattr(self._policy, "free_migration", False):
            node = self._nodes[placement.node]
            level = self._level(node, placement.level)
            job.there = _Place(job, node, level, self._now_s, drawing=True)
            node.places.append(job.there)
            self._switch(job, 0.0)
            return
        job.there, ready_s = self._reserve(job, placement, DRAW_THERE)
        self._at(job, SWITCH, ready_s)

    def _switch(self, job: _Job, pause_s: float) -> None:
        assert job.here and job.there
        self._advance(job)
        self._end_sprint(job)
        self._release(job.here, MIGRATED, job.ready_s)
        job.here, job.there = job.there, None
        job.times[DRAW_THERE] = job.times[SWITCH] = never
        job.migrations += 1
        if pause_s > 0:
            job.here.drawing = False
            self._at(job, DRAW, self._now_s + pause_s)
        job.ready_s = job.since_s = self._now_s + pause_s
        job.set_up_s += job.ready_s - self._now_s
        self._at(job, FINISH, job.ready_s + job.left_s / self._speed(job))

    # Output

    def _sample(self) -> None:
        up = np.array([node.up for node in self._nodes])
        sizes = [self._types[node.kind] for node in self._nodes]
        free = [self._free(node) for node in self._nodes]
        power_w = sum(self._types[node.kind].idle_w for node in self._nodes if node.up)
        power_w += sum(watts for node in self._nodes for _, watts in self._powers(node))
        cpu = [1 - left[0] / size.cpu_milli for left, size in zip(free, sizes, strict=True)]
        memory = [1 - left[2] / size.memory_bytes for left, size in zip(free, sizes, strict=True)]
        counts = (len(self._waiting), len(self._running))
        shares = (np.array(cpu), np.array(memory))
        self._load.append(load_row(self._now_s, *counts, up, *shares, power_w))

    def _batch(self) -> Batch:
        rows, stays = np.array(self._rows, FINISHED_ROW), np.array(self._stays, STAY_ROW)
        batch = Batch(rows, stays, self._load)
        self._rows, self._stays, self._load = [], [], []
        return batch
