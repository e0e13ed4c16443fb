"""A task graph in an enclave of `conf/enclave/`: from the costs of one task to a simulation.

`cost/task.py` gives the time of one task beside equal ones. The simulator needs seconds inside and
the limits that all tasks inside share. Contention and paging are summands in the model and factors
in the simulator. The factors are chosen so that the sum over all tasks of a graph is the model's.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.config.groups.enclave import Enclave
from trimtab.secure_tasks.cost import Bound, cost_at, threads_inside
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.simulation.machine import MOST_WORKERS, EnclaveLimits

_MIB = 2**20


def inside_s(
    graph: TaskGraph, enclave: Enclave, *, encrypted: bool, bound: Bound = Bound.TYPICAL
) -> NDArray[np.float64]:
    """Return each task's seconds in `enclave`, (n,), alone in it and without paging.

    A secure task is one call, with its inputs and outputs encrypted if `encrypted`. Others, such as
    barriers, take their time outside. Each is `protected_s` with one worker.
    """
    alone = graph.work_s * cost_at(enclave.work_factor, bound, none=1.0)
    alone = alone + cost_at(enclave.call_s, bound)
    if encrypted:
        per_byte_s = cost_at(enclave.encryption_s_per_byte, bound)
        alone = alone + (graph.bytes_in + graph.bytes_out) * per_byte_s
    return np.where(graph.secure, alone, graph.work_s)


def limits_of(
    graph: TaskGraph,
    enclave: Enclave,
    workers: int,
    *,
    encrypted: bool,
    bound: Bound = Bound.TYPICAL,
) -> EnclaveLimits:
    """Return the limits that tasks of `graph` share in `enclave` on `workers`.

    An enclave without a limit admits MOST_WORKERS threads. Raises UserError for fewer than one
    worker.
    """
    most = threads_inside(workers, enclave)
    limit = MOST_WORKERS if enclave.thread_limit is None else enclave.thread_limit.threads
    seconds = inside_s(graph, enclave, encrypted=encrypted, bound=bound)[graph.secure]
    mean_s = float(seconds.mean()) if seconds.size else 0.0
    if mean_s == 0:
        return EnclaveLimits(thread_limit=limit)
    contention_s = cost_at(enclave.contention_s, bound)
    contention = tuple(
        1 + contention_s * (inside - 1) * inside / mean_s for inside in range(1, most + 1)
    )
    cache = enclave.page_cache
    if cache is None:
        return EnclaveLimits(thread_limit=limit, contention=contention)
    pages = float(graph.working_set_bytes[graph.secure].mean()) / cache.page_bytes
    return EnclaveLimits(
        thread_limit=limit,
        contention=contention,
        page_cache_bytes=cache.usable_mib * _MIB,
        paging_slowdown=pages * cost_at(enclave.page_fault_s, bound) / mean_s,
    )
