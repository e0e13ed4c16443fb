"""A queue of real jobs, one at a time, by priority (Rocha's thesis, sections 4.2.2 and 4.4.1).

What commands on this machine and programs on Spark have in common; how a job is started, evicted
and waited for is theirs.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Generic, TypeVar

from trimtab.errors import UserError
from trimtab.execution.history import Stay
from trimtab.execution.sprinting.sprint_timer import SprintTimer
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.sprint_budget import SprintBudget

Event = Callable[[float, str, int], None]


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job that joins the queue `arrival_s` after its start; higher priorities go first.

    `command` is what it runs; empty on Spark, where each class has its program.
    """

    job: int
    job_class: str
    priority: int
    arrival_s: float
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DispatchPolicy:
    """P, NP, NPS, DA or DiAS for real jobs, by priority (thesis, section 4.2.2).

    `preemptive`: a job that arrives evicts one of lower priority. `drop_ratio`: the share of its
    tasks that a job is to leave out, 0 where none is given; a command reads it in
    TRIMTAB_DROP_RATIO, and does what it can. `sprint_timeout_s`: how long a job runs before it
    is sped up; no entry: never. `budget_s` and `replenish_s_per_s`: see `SprintBudget`.
    """

    preemptive: bool = False
    drop_ratio: Mapping[int, float] = field(default_factory=dict)
    sprint_timeout_s: Mapping[int, float] = field(default_factory=dict)
    budget_s: float = inf
    replenish_s_per_s: float = 0.0

    def __post_init__(self) -> None:
        for priority, ratio in self.drop_ratio.items():
            if not 0 <= ratio <= 1:
                raise UserError(f"drop_ratio of priority {priority}: {ratio} is not from 0 to 1")
        for priority, timeout_s in self.sprint_timeout_s.items():
            if not timeout_s >= 0:
                raise UserError(
                    f"sprint_timeout_s of priority {priority}: {timeout_s} is not at least 0 s"
                )


class Buffers:
    """Jobs that are to come, and a first-come-first-served buffer for each priority of the others.

    True as long as any job is to come or waits.
    """

    def __init__(self, jobs: Iterable[QueuedJob]) -> None:
        self._coming = deque(sorted(jobs, key=lambda job: (job.arrival_s, job.job)))
        self._waiting: dict[int, deque[QueuedJob]] = {job.priority: deque() for job in self._coming}

    def __bool__(self) -> bool:
        return bool(self._coming) or any(self._waiting.values())

    @property
    def next_arrival_s(self) -> float:
        """When the next job comes; infinite if none does."""
        return self._coming[0].arrival_s if self._coming else inf

    @property
    def highest(self) -> int | None:
        """The highest priority that waits; None: no job does."""
        return max((priority for priority, jobs in self._waiting.items() if jobs), default=None)

    def admit(self, now_s: float) -> list[QueuedJob]:
        """Let those wait that have come by now, and return them."""
        admitted = []
        while self.next_arrival_s <= now_s:
            job = self._coming.popleft()
            self._waiting[job.priority].append(job)
            admitted.append(job)
        return admitted

    def take(self, priority: int) -> QueuedJob:
        """Return the first that waits of this priority; it waits no longer."""
        return self._waiting[priority].popleft()

    def put_back(self, job: QueuedJob) -> None:
        """Let a job that was taken wait again, as the first of its priority."""
        self._waiting[job.priority].appendleft(job)


@dataclass(slots=True)
class RunningJob:
    """The job that runs, and the stay that has not ended yet; `level` is 1 in a sprint."""

    job: QueuedJob
    stay_start_s: float
    level: int = field(default=0, init=False)


RunningT = TypeVar("RunningT", bound=RunningJob)


class JobQueue(Generic[RunningT]):
    """The buffers, the job that runs, its sprints and stays, on node 0.

    Times are seconds since it was made, on the monotonic clock. `on_event` is called with the
    time, what happened, and the job.
    """

    def __init__(
        self,
        jobs: Iterable[QueuedJob],
        policy: DispatchPolicy,
        sprinter: Sprinter,
        on_event: Event = lambda time_s, event, job: None,
    ) -> None:
        self._policy, self._sprinter, self._on_event = policy, sprinter, on_event
        self._buffers = Buffers(jobs)
        self._timer = SprintTimer(SprintBudget(policy.budget_s, policy.replenish_s_per_s))
        self._running: RunningT | None = None
        self._begun_s = time.monotonic()
        self.stays: list[Stay] = []

    def _now_s(self) -> float:
        return time.monotonic() - self._begun_s

    def _note_start(self, running: RunningT) -> None:
        self._running = running
        timeout_s = self._policy.sprint_timeout_s.get(running.job.priority)
        self._timer.start(running.stay_start_s, timeout_s)

    def _free(self) -> None:
        """Let go of the job: it has ended or was evicted."""
        if self._timer.sprinting:
            self._sprinter.rest()
        self._timer.stop(self._now_s())
        self._running = None

    def _turn_sprint(self) -> None:
        """Begin or end the sprint of the job that runs, if it is time."""
        now_s, running = self._now_s(), self._running
        if running is None or self._timer.deadline_s > now_s:
            return
        self._timer.fire(now_s)
        if running.level == self._timer.sprinting:  # the budget is empty
            return
        self._close_stay(running, now_s, "level")
        running.level = int(self._timer.sprinting)
        if self._timer.sprinting:
            self._sprinter.sprint()
        else:
            self._sprinter.rest()
        self._on_event(now_s, "sprints" if self._timer.sprinting else "rests", running.job.job)

    def _close_stay(self, running: RunningJob, end_s: float, end: str) -> None:
        level, start_s = running.level, running.stay_start_s
        milli = self._sprinter.sprint_milli if level else self._sprinter.normal_milli
        self.stays.append(Stay(running.job.job, 0, level, milli, start_s, start_s, end_s, end))
        running.stay_start_s = end_s
