"""Queues of ready tasks in the order of their release, linked through arrays.

There is a queue for each holder and class of tasks. A worker that may run the first task of a class
may run all of it. So a holder's oldest task that a worker may run is the oldest among the heads of
its classes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.compiled import inlined
from trimtab.secure_tasks.simulation.events import may_run
from trimtab.secure_tasks.simulation.model import NIL, GraphModel, GraphState


class Queues(NamedTuple):
    """Heads and tails, (holders, classes); neighbours and order of release, (n,)."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    after: NDArray[np.int64]
    before: NDArray[np.int64]
    order: NDArray[np.int64]


def build_queues(m: GraphModel, holders: int) -> Queues:
    """Return empty queues."""
    shape = (holders, len(m.class_target))
    tasks = len(m.task_class)
    ends = (np.full(shape, NIL), np.full(shape, NIL))
    return Queues(*ends, *(np.full(tasks, NIL) for _ in range(3)))


@inlined
def put(m: GraphModel, s: GraphState, q: Queues, holder: int, task: int) -> None:
    """Append a released task to a holder's queue."""
    number = m.task_class[task]
    clock = s.clock[0]
    q.order[task] = clock.released
    clock.released += 1
    last = q.last[holder, number]
    q.before[task] = last
    q.after[task] = NIL
    if last == NIL:
        q.first[holder, number] = task
    else:
        q.after[last] = task
    q.last[holder, number] = task


@inlined
def _remove(m: GraphModel, q: Queues, holder: int, task: int) -> None:
    number = m.task_class[task]
    before, after = q.before[task], q.after[task]
    if before == NIL:
        q.first[holder, number] = after
    else:
        q.after[before] = after
    if after == NIL:
        q.last[holder, number] = before
    else:
        q.before[after] = before


@inlined
def take_oldest(m: GraphModel, s: GraphState, q: Queues, holder: int, worker: int) -> int:
    """Remove and return the earliest released task that `worker` may run, or NIL."""
    found = NIL
    for number in range(len(m.class_target)):
        head = q.first[holder, number]
        if (
            head != NIL
            and may_run(m, s, number, worker)
            and (found == NIL or q.order[head] < q.order[found])
        ):
            found = head
    if found != NIL:
        _remove(m, q, holder, found)
    return found


@inlined
def take_newest(m: GraphModel, s: GraphState, q: Queues, holder: int, worker: int) -> int:
    """Remove and return the latest released task that `worker` may run, or NIL."""
    found = NIL
    for number in range(len(m.class_target)):
        tail = q.last[holder, number]
        if (
            tail != NIL
            and may_run(m, s, number, worker)
            and (found == NIL or q.order[tail] > q.order[found])
        ):
            found = tail
    if found != NIL:
        _remove(m, q, holder, found)
    return found
