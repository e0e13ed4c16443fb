"""The run time of one task in an enclave, for scheduling and simulating protected tasks."""

import math
from dataclasses import dataclass
from enum import StrEnum

from trimtab.config.groups.enclave import CostRange, Enclave
from trimtab.errors import UserError

_MIB = 2**20

Bound = StrEnum("Bound", "LOW TYPICAL HIGH")


@dataclass(frozen=True)
class EnclaveTask:
    """A task's load: `work_s` is its time without protection, in seconds.

    `calls` are calls into the enclave and back. `in_bytes` are decrypted before it, `out_bytes`
    encrypted after it. `working_set_bytes` is the memory inside that it reuses.
    """

    work_s: float
    calls: float = 1
    in_bytes: float = 0.0
    out_bytes: float = 0.0
    working_set_bytes: float = 0.0

    def __post_init__(self) -> None:
        for key, value in vars(self).items():
            if not (math.isfinite(value) and value >= 0):
                raise UserError(f"task: {key}: {value!r} given, expected a number of at least 0")


def protected_s(
    task: EnclaveTask, workers: int, enclave: Enclave, bound: Bound = Bound.TYPICAL
) -> float:
    """Return the run time of `task` in `enclave` beside `workers` - 1 others, in seconds.

    It is work + calls + encryption + page faults + contention, each at one end of its published
    range or at its best estimate. Contention is fitted as the application's time for each task and
    other worker. As tasks run concurrently, a task's own time grows by that times the number of
    tasks at once. Workers outside by the thread limit do not count (`threads_inside`). Raises
    UserError for fewer than one worker.
    """
    inside = threads_inside(workers, enclave)
    call_s = (
        cost_at(enclave.call_s, bound)
        + cost_at(enclave.contention_s, bound) * (inside - 1) * inside
    )
    return (
        task.work_s * cost_at(enclave.work_factor, bound, none=1.0)
        + task.calls * call_s
        + (task.in_bytes + task.out_bytes) * cost_at(enclave.encryption_s_per_byte, bound)
        + page_faults(task, workers, enclave) * cost_at(enclave.page_fault_s, bound)
    )


def threads_inside(workers: int, enclave: Enclave) -> int:
    """Return the number of `workers` that fit the enclave at once; UserError for fewer than one."""
    if workers < 1:
        raise UserError(f"workers: {workers!r} given, expected at least 1")
    limit = enclave.thread_limit
    return workers if limit is None else min(workers, limit.threads)


def page_faults(task: EnclaveTask, workers: int, enclave: Enclave) -> float:
    """Return the number of page loads of `task` when all tasks inside are equal.

    The share of the common memory beyond the page cache is loaded once: a lower bound for tasks
    that pass over it several times.
    """
    cache = enclave.page_cache
    used_bytes = task.working_set_bytes * threads_inside(workers, enclave)
    if cache is None or used_bytes <= cache.usable_mib * _MIB:
        return 0.0
    missing = 1 - cache.usable_mib * _MIB / used_bytes
    return missing * task.working_set_bytes / cache.page_bytes


def cost_at(cost: CostRange | None, bound: Bound, none: float = 0.0) -> float:
    """Return a cost at one end of its range or at its best estimate; `none` if it has neither."""
    if cost is None:
        return none
    typical = (cost.low + cost.high) / 2 if cost.typical is None else cost.typical
    return {Bound.LOW: cost.low, Bound.TYPICAL: typical, Bound.HIGH: cost.high}[bound]
