"""Work first: one FIFO queue per worker; an idle worker steals another one's newest task."""

from trimtab.clusters.compiled import compiled, inlined
from trimtab.secure_tasks.simulation.events import finish, next_end, released, start
from trimtab.secure_tasks.simulation.model import NIL, GraphModel, GraphState
from trimtab.secure_tasks.simulation.queues import (
    Queues,
    build_queues,
    put,
    take_newest,
    take_oldest,
)


def build(m: GraphModel) -> Queues:
    """Return the policy's state before the first ready task."""
    return build_queues(m, len(m.device))


@inlined
def _take(m: GraphModel, s: GraphState, ready: Queues, worker: int) -> int:
    task = take_oldest(m, s, ready, worker, worker)
    workers = len(m.device)
    step = 1
    while task == NIL and step < workers:
        task = take_newest(m, s, ready, (worker + step) % workers, worker)
        step += 1
    return task


@compiled
def run(m: GraphModel, s: GraphState, ready: Queues) -> None:
    """Simulate to the end: Rocha's thesis, section 8.3.5.

    Tasks without predecessors are in the queue of worker 0, which creates them. A task that becomes
    ready joins the queue of the worker that released it. A worker takes the oldest task of its
    queue that it may run now. If there is none, it steals the newest one of the next worker, by
    number, that has one.
    """
    for task in range(len(s.waiting)):
        if s.waiting[task] == 0:
            s.clock[0].ready += 1
            put(m, s, ready, 0, task)
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
                put(m, s, ready, worker, successor)
