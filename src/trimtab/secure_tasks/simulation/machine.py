"""The machine that simulates a task graph: its workers, and its enclave's limits."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UserError
from trimtab.secure_tasks.graphs.graph import TaskGraph

MOST_WORKERS = 1024


@dataclass(frozen=True)
class WorkerKind:
    """`count` equal workers: a task of 1 s takes 1 / `speed` s on one; power is per worker."""

    device: str
    count: int
    speed: float = 1.0
    idle_w: float = 0.0
    busy_w: float = 0.0

    def __post_init__(self) -> None:
        if self.count < 0:
            raise UserError(f"workers of {self.device}: count: {self.count}, expected 0 or more")
        if not (0 < self.speed < math.inf):
            raise UserError(f"workers of {self.device}: speed: {self.speed}, expected above 0")
        for name in ("idle_w", "busy_w"):
            if not 0 <= getattr(self, name) < math.inf:
                value = getattr(self, name)
                raise UserError(f"workers of {self.device}: {name}: {value}, expected 0 or more")


@dataclass(frozen=True)
class EnclaveLimits:
    """The limits that all tasks inside share.

    At most `thread_limit` tasks run inside at once. A task that starts as the k-th inside takes
    `contention[k - 1]` times its seconds (the last entry holds for more). Where all working sets
    inside add up to more than `page_cache_bytes`, it takes 1 + `paging_slowdown` x (the excess
    share) times as long.
    """

    thread_limit: int = MOST_WORKERS
    contention: tuple[float, ...] = (1.0,)
    page_cache_bytes: float = math.inf
    paging_slowdown: float = 0.0

    def __post_init__(self) -> None:
        if self.thread_limit < 1:
            raise UserError(f"thread_limit: {self.thread_limit}, expected 1 or more")
        if not self.contention or not all(0 < factor < math.inf for factor in self.contention):
            raise UserError(f"contention: {self.contention}, expected factors above 0")
        if not self.page_cache_bytes > 0:
            raise UserError(f"page_cache_bytes: {self.page_cache_bytes}, expected above 0")
        if not 0 <= self.paging_slowdown < math.inf:
            raise UserError(f"paging_slowdown: {self.paging_slowdown}, expected 0 or more")


@dataclass(frozen=True)
class EnclaveMachine:
    """Worker kinds, whose workers are numbered one kind after the other, and the enclave."""

    workers: tuple[WorkerKind, ...]
    enclave: EnclaveLimits = EnclaveLimits()

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_WORKERS:
            raise UserError(f"workers: {self.count} in all, expected 1 to {MOST_WORKERS}")

    @property
    def count(self) -> int:
        """The number of workers."""
        return sum(kind.count for kind in self.workers)

    def per_worker(self, name: str) -> NDArray[np.float64]:
        """Return a field of the kinds for each worker, (count,)."""
        counts = [kind.count for kind in self.workers]
        return np.repeat(np.array([getattr(kind, name) for kind in self.workers], float), counts)

    def device_bits(self, graph: TaskGraph) -> NDArray[np.int64]:
        """Return each worker's device as a bit of `target`; 0: no task names its device.

        Raises UserError where a task may run on no worker.
        """
        bits = [
            1 << graph.devices.index(kind.device) if kind.device in graph.devices else 0
            for kind in self.workers
        ]
        there = 0
        for kind, bit in zip(self.workers, bits, strict=True):
            there |= bit if kind.count else 0
        homeless = np.flatnonzero((graph.target & there) == 0)
        if homeless.size:
            task = int(homeless[0])
            wanted = [
                name for at, name in enumerate(graph.devices) if int(graph.target[task]) >> at & 1
            ]
            raise UserError(
                f"task {task}: target: may run on {', '.join(wanted)}: no worker is of that kind"
            )
        return np.repeat(np.array(bits, np.int64), [kind.count for kind in self.workers])
