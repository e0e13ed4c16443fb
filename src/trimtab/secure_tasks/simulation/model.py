"""The data of the compiled policies: a graph on a machine, and the simulation's state."""

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.simulation.machine import EnclaveMachine

NIL = cast(int, np.int64(-1))  # in place of a task or a worker

CLOCK = np.dtype(
    [
        ("now_s", np.float64),
        ("ready", np.int64),  # released tasks that have not started
        ("released", np.int64),  # count so far: the next task's place in the order of release
        ("inside", np.int64),  # tasks in the enclave
        ("inside_bytes", np.int64),  # their working sets
    ]
)
LIMITS = np.dtype(
    [
        ("thread_limit", np.int64),
        ("page_cache_bytes", np.float64),
        ("paging_slowdown", np.float64),
    ]
)


class GraphModel(NamedTuple):
    """The constants.

    Tasks of equal target and protection are one class: they may run in the same places, so only the
    first of a queue has to be checked.
    """

    first_successor: NDArray[np.int64]
    successors: NDArray[np.int64]
    cost_s: NDArray[np.float64]  # (n,) inside or outside, before contention and paging
    working_set_bytes: NDArray[np.int64]
    task_class: NDArray[np.int64]  # (n,)
    class_target: NDArray[np.int64]  # (classes,)
    class_secure: NDArray[np.int64]  # (classes,)
    device: NDArray[np.int64]  # (workers,) its device's bit of targets
    speed: NDArray[np.float64]  # (workers,)
    contention: NDArray[np.float64]  # (workers + 1,) by number of tasks inside
    limits: NDArray[np.void]  # one LIMITS


class GraphState(NamedTuple):
    """The state, which changes with every event."""

    clock: NDArray[np.void]  # one CLOCK
    waiting: NDArray[np.int64]  # (n,) predecessors that have not ended
    running: NDArray[np.int64]  # (workers,) task, or NIL
    end_s: NDArray[np.float64]  # (workers,) end of its task; infinite without one
    busy_s: NDArray[np.float64]  # (workers,)
    start_s: NDArray[np.float64]  # (n,) or, if not kept, (0,); also the following
    finish_s: NDArray[np.float64]
    worker: NDArray[np.int64]


def build_model(
    graph: TaskGraph,
    machine: EnclaveMachine,
    unprotected_s: NDArray[np.float64],
    enclave_s: NDArray[np.float64],
) -> GraphModel:
    """Return the constants; raises UserError where a task may run on no worker."""
    device = machine.device_bits(graph)
    enclave = machine.enclave
    pairs = graph.target * 2 + graph.secure
    classes, task_class = np.unique(pairs, return_inverse=True)
    factors = np.array(enclave.contention, np.float64)
    inside = np.minimum(np.maximum(np.arange(machine.count + 1) - 1, 0), len(factors) - 1)
    limits = np.zeros(1, LIMITS)
    limits["thread_limit"] = enclave.thread_limit
    limits["page_cache_bytes"] = enclave.page_cache_bytes
    limits["paging_slowdown"] = enclave.paging_slowdown
    return GraphModel(
        graph.first_successor,
        graph.successors,
        np.where(graph.secure, enclave_s, unprotected_s),
        graph.working_set_bytes,
        task_class.astype(np.int64),
        classes >> 1,
        classes & 1,
        device,
        machine.per_worker("speed"),
        factors[inside],
        limits,
    )


def build_state(graph: TaskGraph, workers: int, keep_tasks: bool) -> GraphState:
    """Return the state before the first event."""
    rows = len(graph) if keep_tasks else 0
    return GraphState(
        np.zeros(1, CLOCK),
        graph.predecessor_counts(),
        np.full(workers, NIL),
        np.full(workers, np.inf),
        np.zeros(workers),
        np.zeros(rows),
        np.zeros(rows),
        np.full(rows, NIL),
    )
