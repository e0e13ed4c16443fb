"""The interface of policies, and their view of jobs and the cluster.

A policy is a plain object that answers questions, without clock or event loop. The reference
simulator, the compiled kernel and the real queues ask the same questions.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from trimtab.policies.layout import KernelModel
from trimtab.queueing.poisson_priority import Discipline


@dataclass(frozen=True, slots=True)
class PendingTask:
    """A job that needs a place. `job_class` is the index of its class."""

    job: int
    job_class: int
    priority: int
    cpu_milli: int
    gpu_milli: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node that is up: its type, its size and its free resources.

    `free_gpu_milli` is the largest GPU demand with room: a share of one GPU, or whole ones.
    `has_image` says whether the node has the image of the task in question.
    """

    node: int
    node_type: int
    cpu_milli: int
    memory_bytes: int
    free_cpu_milli: int
    free_gpu_milli: int
    free_memory_bytes: int
    has_image: bool = True

    def has_room(self, task: PendingTask) -> bool:
        """Return whether `task` fits the free resources."""
        return (
            task.cpu_milli <= self.free_cpu_milli
            and task.gpu_milli <= self.free_gpu_milli
            and task.memory_bytes <= self.free_memory_bytes
        )


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A placed task: its node, its frequency level and its start."""

    task: PendingTask
    node: int
    level: int
    start_s: float


@dataclass(frozen=True, slots=True)
class Placement:
    """A node, and the frequency level (0 the lowest) of the task's cores on it."""

    node: int
    level: int


class Policy(ABC):
    """The base of every policy: its attributes choose the next job, `place` chooses the node.

    Queue. `by_priority`: waiting jobs are taken by priority (first come, first served within one),
    or else in the order of arrival. A job that fits nowhere does not block later ones, unless
    `head_of_line`: then the first job blocks the queue. `evicts`: `evict` may return a task.
    `resumes`: an evicted job continues (preemptive resume). `resamples`: it restarts with the
    service time of another job of its class (preemptive repeat different). Or else it restarts with
    the same service time (preemptive repeat identical).

    Migration. `reconsider` is called every `tick_s`. With `hold_when_pending`, it is not called
    while tasks wait and the cluster's free capacity is above the sum of their requests.
    `free_migration`: a moved job needs neither image nor state at its new place.
    `restarts_moved`: a moved job starts again at its new place, and its work until then is lost; or
    else it continues there.

    Speed. `level` is the default frequency level of executions (negative: counted from the highest,
    -1). By job class, `drop_ratio` is the share of dropped tasks, and `timeout_s` the duration of
    an execution before it sprints, at `sprint_level`. The sprint budget is `budget_s`, replenished
    by `replenish_s_per_s`.
    """

    by_priority: bool = False
    head_of_line: bool = False
    evicts: bool = False
    resumes: bool = False
    resamples: bool = False
    tick_s: float = math.inf
    hold_when_pending: bool = False
    free_migration: bool = False
    restarts_moved: bool = False
    level: int = -1
    drop_ratio: Mapping[str, float] = MappingProxyType({})
    timeout_s: Mapping[str, float] = MappingProxyType({})
    sprint_level: int = -1
    budget_s: float = math.inf
    replenish_s_per_s: float = 0.0
    maintain_s: float = math.inf

    # The rule of policies.layout by which the compiled kernel places jobs as this very class does;
    # None: the kernel does not know it, and the reference simulator asks it.
    placement_rule: int | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Reset what kernel and formulas assume: a subclass may decide otherwise."""
        super().__init_subclass__(**arguments)
        for name in ("placement_rule", "discipline"):
            if name not in vars(cls):
                setattr(cls, name, vars(Policy)[name])

    @abstractmethod
    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return the place of `task`, given the nodes with room for it; None: it waits."""

    def evict(self, task: PendingTask, running: Sequence[RunningTask]) -> RunningTask | None:
        """Return the task to evict for `task`, which fits nowhere; None: it waits.

        `running` are the tasks whose eviction would make room for it.
        """
        return None

    def reconsider(self, running: RunningTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return the new place of `running`; None: it stays.

        `nodes` are those with room for it, and its own node without it.
        """
        return None

    def maintain(self, finished: pd.DataFrame, now_s: float) -> "Policy | None":
        """Return the next policy; None: this one. Called every `maintain_s`.

        `finished` are the jobs that finished since the last call (tables.SCHEDULED).
        """
        return None

    def discipline(self) -> Discipline | None:
        """Return this class' discipline on a server that runs one job at a time.

        None: it is no pure priority queue, for which formulas and the real dispatchers exist.
        """
        return None

    def fill_kernel(self, model: KernelModel) -> None:
        """Fill the kernel's tables with further inputs of its `placement_rule`.

        Raises UserError for a policy made for another cluster.
        """
        return None
