"""What a policy is, and what it sees of the jobs and of the cluster.

A policy is a plain object that answers questions; it knows neither clock nor event loop. The
reference simulator, the compiled kernel and the real queues ask the same questions.
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
    """A job that asks for a place. `job_class` is the index of its class."""

    job: int
    job_class: int
    priority: int
    cpu_milli: int
    gpu_milli: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node that is up: its type, its size and what is free of it.

    `has_image` says, for the task in question, whether its image is there already.
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
        """Return whether `task` fits into what is free."""
        return (
            task.cpu_milli <= self.free_cpu_milli
            and task.gpu_milli <= self.free_gpu_milli
            and task.memory_bytes <= self.free_memory_bytes
        )


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that has a place: where, at which frequency level, and since when."""

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
    """The base of every policy: who is next by what is said here, where to by `place`.

    Who is next. `by_priority`: whether waiting jobs are taken by priority (first come, first served
    within one), or in the order of arrival alone. A job that fits nowhere never holds up those
    behind it that do, unless `head_of_line`: then the first of the queue is waited for. `evicts`:
    whether `evict` ever names anybody; `resumes`: whether an evicted job goes on where it was
    (preemptive resume) or starts again with the same service time (preemptive repeat).

    Who moves. `reconsider` is asked every `tick_s`; with `hold_when_pending` of nobody while tasks
    wait and the cluster's free capacity is above the sum of what they ask for. `free_migration`:
    a job that moves needs neither image nor state at its new place.

    How fast. `level` is the frequency level that executions without one of their own run at
    (negative: counted from the highest, -1). By job class, `drop_ratio` is the share of tasks left
    out and `timeout_s` how long an execution lasts before it sprints, at `sprint_level`, on a
    budget of `budget_s`, of which `replenish_s_per_s` come back.
    """

    by_priority: bool = False
    head_of_line: bool = False
    evicts: bool = False
    resumes: bool = False
    tick_s: float = math.inf
    hold_when_pending: bool = False
    free_migration: bool = False
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
        """Let a class say for itself what kernel and formulas know: it may decide otherwise."""
        super().__init_subclass__(**arguments)
        for name in ("placement_rule", "discipline"):
            if name not in vars(cls):
                setattr(cls, name, vars(Policy)[name])

    @abstractmethod
    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return where `task` starts, given the nodes that have room for it; None: it waits."""

    def evict(self, task: PendingTask, running: Sequence[RunningTask]) -> RunningTask | None:
        """Return whom `task`, which fits nowhere, takes the place of; None: it waits.

        `running` are the tasks whose leaving would make room for it.
        """
        return None

    def reconsider(self, running: RunningTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return where `running` is moved to; None: it stays.

        `nodes` are those with room for it, and its own with its own share counted as free.
        """
        return None

    def maintain(self, finished: pd.DataFrame, now_s: float) -> "Policy | None":
        """Return the policy to go on with; None: this one. Asked every `maintain_s`.

        `finished` are the jobs that finished since it was last asked (tables.SCHEDULED).
        """
        return None

    def discipline(self) -> Discipline | None:
        """Return what this very class is before a server that one job at a time has to itself.

        None: no queue by priority alone, which formulas and the real dispatchers could do.
        """
        return None

    def fill_kernel(self, model: KernelModel) -> None:
        """Put what the kernel's `placement_rule` needs besides the above into its tables.

        Raises UserError for a policy made for another cluster.
        """
        return None
