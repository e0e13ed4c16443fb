"""Our own policy, which considers page cache, thread limit and device.

It gives an idle worker a task that it may run. Within a class (tasks of equal target and
protection), it takes the task with the longest path to the graph's end: list scheduling by critical
path. Among classes, it takes the one whose delay would extend the makespan most. Two lower bounds
estimate that: the task's path, and the class's remaining seconds divided by its places. Places are
workers of its devices by speed; for secure tasks, at most as many as threads may enter. So tasks
that need a scarce place, the enclave or a device, begin early, and others fill the gaps.

A secure task that no longer fits the page cache waits outside, if paging would take longer than the
wait for the next task to leave. Its worker takes a task of another class meanwhile. Entering early
would cost the page loads and free the worker no sooner.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.compiled import compiled, inlined
from trimtab.secure_tasks.graphs.order import path_to_end_s, topological_order
from trimtab.secure_tasks.simulation.events import (
    finish,
    may_run,
    next_end,
    paging_factor,
    released,
    start,
)
from trimtab.secure_tasks.simulation.model import NIL, GraphModel, GraphState


class ReadyHeaps(NamedTuple):
    """A binary heap of ready tasks for each class, concatenated in `heap`."""

    heap: NDArray[np.int64]  # (n,)
    begin: NDArray[np.int64]  # (classes,) start of its heap
    size: NDArray[np.int64]  # (classes,)
    path_s: NDArray[np.float64]  # (n,) from a task's start to the graph's end
    left_s: NDArray[np.float64]  # (classes,) seconds of tasks not started
    places: NDArray[np.float64]  # (classes,) places that can run it, in workers of speed 1


def build(m: GraphModel) -> ReadyHeaps:
    """Return the policy's state before the first ready task."""
    classes = len(m.class_target)
    sizes = np.bincount(m.task_class, minlength=classes)
    counts = np.bincount(m.successors, minlength=len(m.task_class)).astype(np.int64)
    order = topological_order(m.first_successor, m.successors, counts)
    return ReadyHeaps(
        np.empty(len(m.task_class), np.int64),
        np.cumsum(sizes) - sizes,
        np.zeros(classes, np.int64),
        path_to_end_s(m.first_successor, m.successors, order, m.cost_s),
        np.bincount(m.task_class, m.cost_s, classes).astype(np.float64),
        np.array([_places(m, number) for number in range(classes)]),
    )


def _places(m: GraphModel, number: int) -> float:
    speeds = np.sort(m.speed[m.device & m.class_target[number] != 0])[::-1]
    threads = int(m.limits[0]["thread_limit"])
    return float(np.sum(speeds[:threads] if m.class_secure[number] else speeds))


@inlined
def _before(ready: ReadyHeaps, task: int, other: int) -> bool:
    longer = ready.path_s[task] > ready.path_s[other]
    return bool(longer or (ready.path_s[task] == ready.path_s[other] and task < other))


@inlined
def _put(m: GraphModel, s: GraphState, ready: ReadyHeaps, task: int) -> None:
    number = m.task_class[task]
    begin, at = ready.begin[number], ready.size[number]
    ready.size[number] += 1
    s.clock[0].ready += 1
    while at > 0 and _before(ready, task, ready.heap[begin + ((at - 1) >> 1)]):
        ready.heap[begin + at] = ready.heap[begin + ((at - 1) >> 1)]
        at = (at - 1) >> 1
    ready.heap[begin + at] = task


@inlined
def _take_head(m: GraphModel, ready: ReadyHeaps, number: int) -> int:
    begin = ready.begin[number]
    head = ready.heap[begin]
    ready.size[number] -= 1
    size = ready.size[number]
    moved = ready.heap[begin + size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(
            ready, ready.heap[begin + child + 1], ready.heap[begin + child]
        ):
            child += 1
        if not _before(ready, ready.heap[begin + child], moved):
            break
        ready.heap[begin + at] = ready.heap[begin + child]
        at = child
    ready.heap[begin + at] = moved
    ready.left_s[number] = max(0.0, ready.left_s[number] - m.cost_s[head])
    return int(head)


@inlined
def _better_outside(m: GraphModel, s: GraphState, task: int, worker: int) -> bool:
    """Return whether paging would take longer than waiting for the next task to leave."""
    if s.clock[0].inside == 0:
        return False
    paging = paging_factor(m, s, task) - 1.0
    if paging == 0.0:
        return False
    leaves_s = float("inf")
    for other in range(len(s.running)):
        if s.running[other] != NIL and m.class_secure[m.task_class[s.running[other]]]:
            leaves_s = min(leaves_s, s.end_s[other])
    factor = m.contention[s.clock[0].inside + 1] / m.speed[worker]
    return bool(m.cost_s[task] * factor * paging > leaves_s - s.clock[0].now_s)


@inlined
def _take(m: GraphModel, s: GraphState, ready: ReadyHeaps, worker: int) -> int:
    found, found_s, found_path_s = NIL, 0.0, 0.0
    for number in range(len(m.class_target)):
        if ready.size[number] == 0 or not may_run(m, s, number, worker):
            continue
        head = ready.heap[ready.begin[number]]
        if m.class_secure[number] and _better_outside(m, s, head, worker):
            continue
        path_s = ready.path_s[head]
        bound_s = max(path_s, ready.left_s[number] / ready.places[number])
        if found == NIL or bound_s > found_s or (bound_s == found_s and path_s > found_path_s):
            found, found_s, found_path_s = number, bound_s, path_s
    return found if found == NIL else _take_head(m, ready, found)


@compiled
def run(m: GraphModel, s: GraphState, ready: ReadyHeaps) -> None:
    """Simulate to the end, as the module's docstring says."""
    for task in range(len(s.waiting)):
        if s.waiting[task] == 0:
            _put(m, s, ready, task)
    while True:
        for worker in range(len(m.device)):
            if s.clock[0].ready > 0 and s.running[worker] == NIL:
                task = _take(m, s, ready, worker)
                if task != NIL:
                    start(m, s, task, worker)
        worker = next_end(s)
        if worker == NIL:
            return
        task = finish(m, s, worker)
        for at in range(m.first_successor[task], m.first_successor[task + 1]):
            if released(s, m.successors[at]):
                _put(m, s, ready, m.successors[at])
