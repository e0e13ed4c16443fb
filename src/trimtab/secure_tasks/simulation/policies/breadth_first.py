"""Breadth first: one global queue, first in, first out, and an immediate successor."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.compiled import compiled, inlined
from trimtab.secure_tasks.simulation.events import finish, may_run, next_end, released, start
from trimtab.secure_tasks.simulation.model import NIL, GraphModel, GraphState
from trimtab.secure_tasks.simulation.queues import Queues, build_queues, put, take_oldest


class GlobalQueue(NamedTuple):
    """The global queue, and each worker's immediate successor, or NIL."""

    queues: Queues
    successor: NDArray[np.int64]


def build(m: GraphModel) -> GlobalQueue:
    """Return the policy's state before the first ready task."""
    return GlobalQueue(build_queues(m, 1), np.full(len(m.device), NIL))


@inlined
def _take(m: GraphModel, s: GraphState, ready: GlobalQueue, worker: int) -> int:
    task = ready.successor[worker]
    if task != NIL:
        ready.successor[worker] = NIL
        if may_run(m, s, m.task_class[task], worker):
            return int(task)
        put(m, s, ready.queues, 0, task)
    return take_oldest(m, s, ready.queues, 0, worker)


@compiled
def run(m: GraphModel, s: GraphState, ready: GlobalQueue) -> None:
    """Simulate to the end: Rocha's thesis, section 8.3.5.

    A task that becomes ready joins the end of the only queue. When a worker's task ends, the
    "immediate successor" is the first task that this released and the worker's device may run. The
    worker continues with it, if the enclave has room. Otherwise, like any idle worker, it takes the
    head of the queue, skipping tasks that it may not run now.
    """
    for task in range(len(s.waiting)):
        if s.waiting[task] == 0:
            s.clock[0].ready += 1
            put(m, s, ready.queues, 0, task)
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
            successor = m.successors[at]
            if released(s, successor):
                s.clock[0].ready += 1
                fits = m.class_target[m.task_class[successor]] & m.device[worker] != 0
                if fits and ready.successor[worker] == NIL:
                    ready.successor[worker] = successor
                else:
                    put(m, s, ready.queues, 0, successor)
