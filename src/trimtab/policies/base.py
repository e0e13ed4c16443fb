"""What a policy is, and what it sees of the jobs and of the cluster.

A policy is a plain object that answers questions; it knows neither clock nor event loop. The
reference simulator, the compiled kernel and the real queues ask the same questions.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Task:
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

    def has_room(self, task: Task) -> bool:
        """Return whether `task` fits into what is free."""
        return (
            task.cpu_milli <= self.free_cpu_milli
            and task.gpu_milli <= self.free_gpu_milli
            and task.memory_bytes <= self.free_memory_bytes
        )


@dataclass(frozen=True, slots=True)
class Running:
    """A task that has a place: where, at which frequency level, and since when."""

    task: Task
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

    `by_priority`: whether waiting jobs are taken by priority (first come, first served within
    one), or in the order of arrival alone. A job that fits nowhere never holds up those behind it
    that do, unless `head_of_line`: then the first of the queue is waited for.
    `resumes`: whether an evicted job goes on where it was (preemptive resume) or starts again
    with the same service time (preemptive repeat). `tick_s`: how often `reconsider` is asked.
    """

    by_priority: bool = False
    head_of_line: bool = False
    resumes: bool = False
    tick_s: float = math.inf

    @abstractmethod
    def place(self, task: Task, nodes: Sequence[NodeState]) -> Placement | None:
        """Return where `task` starts, given the nodes that have room for it; None: it waits."""

    def evict(self, task: Task, running: Sequence[Running]) -> Running | None:
        """Return whom `task`, which fits nowhere, takes the place of; None: it waits.

        `running` are the tasks whose leaving would make room for it.
        """
        return None

    def reconsider(self, running: Running, nodes: Sequence[NodeState]) -> Placement | None:
        """Return where `running` is moved to; None: it stays.

        `nodes` are those with room for it, and its own with its own share counted as free.
        """
        return None
