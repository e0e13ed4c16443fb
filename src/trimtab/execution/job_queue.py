"""A queue of real jobs, one at a time, by priority (Rocha's thesis, sections 4.2.2 and 4.4.1).

Shared by commands on this machine and programs on Spark, which start, evict and await jobs in their
own ways.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Generic, TypeVar

from trimtab.execution.history import Allocation
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.base import Policy
from trimtab.policies.sprint_budget import SprintBudget

Event = Callable[[float, str, int], None]


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job that joins the queue `arrival_s` after its start; higher priorities go first.

    `command` is empty on Spark, where each class has its program.
    """

    job: int
    job_class: str
    priority: int
    arrival_s: float
    command: tuple[str, ...] = ()


class Buffers:
    """Future jobs, and a first-come-first-served buffer of waiting jobs for each priority.

    True while any job is in the future or waits.
    """

    def __init__(self, jobs: Iterable[QueuedJob]) -> None:
        self._coming = deque(sorted(jobs, key=lambda job: (job.arrival_s, job.job)))
        self._waiting: dict[int, deque[QueuedJob]] = {job.priority: deque() for job in self._coming}

    def __bool__(self) -> bool:
        return bool(self._coming) or any(self._waiting.values())

    @property
    def next_arrival_s(self) -> float:
        """The arrival of the next job; infinite if there is none."""
        return self._coming[0].arrival_s if self._coming else inf

    @property
    def highest(self) -> int | None:
        """The highest waiting priority; None if no job waits."""
        return max((priority for priority, jobs in self._waiting.items() if jobs), default=None)

    def admit(self, now_s: float) -> list[QueuedJob]:
        """Move the jobs that have arrived by now to their buffers, and return them."""
        admitted = []
        while self.next_arrival_s <= now_s:
            job = self._coming.popleft()
            self._waiting[job.priority].append(job)
            admitted.append(job)
        return admitted

    def take(self, priority: int) -> QueuedJob:
        """Remove and return the first waiting job of this priority."""
        return self._waiting[priority].popleft()

    def put_back(self, job: QueuedJob) -> None:
        """Put a taken job back, as the first of its priority."""
        self._waiting[job.priority].appendleft(job)


class SprintTimer:
    """Decides when the running job sprints, and for how long (thesis, section 4.4.1).

    A timer runs for each dispatched job. When it fires, the job sprints until it ends or the budget
    is used up. The budget is replenished continuously, up to its full size. A job that has used it
    up ends without sprinting. All times are seconds on one monotonic clock.
    """

    def __init__(self, budget: SprintBudget) -> None:
        self.budget = budget
        self.sprinting = False
        self.deadline_s = inf  # when to call `fire`

    def start(self, now_s: float, timeout_s: float | None) -> None:
        """Set the timer of a job that starts now; without a timeout it never sprints."""
        self._account(now_s)
        self.deadline_s = inf if timeout_s is None else now_s + timeout_s

    def fire(self, now_s: float) -> None:
        """Begin or end the sprint, at `deadline_s`."""
        self._account(now_s)
        self.sprinting = not self.sprinting and self.budget.left_s > 0
        self.budget.foresee_empty(now_s, int(self.sprinting))
        self.deadline_s = self.budget.empty_s if self.sprinting else inf

    def stop(self, now_s: float) -> None:
        """Forget the job: it has ended or was evicted."""
        self._account(now_s)
        self.sprinting, self.deadline_s = False, inf

    def _account(self, now_s: float) -> None:
        self.budget.settle(now_s, int(self.sprinting))


@dataclass(slots=True)
class QueueRunningJob:
    """The running job and its open allocation; `level` is 1 in a sprint."""

    job: QueuedJob
    allocation_start_s: float
    level: int = field(default=0, init=False)


RunningT = TypeVar("RunningT", bound=QueueRunningJob)


class JobQueue(Generic[RunningT]):
    """The buffers, the running job, its sprints and allocations, on node 0.

    `policy` is a priority queue (`dispatch_policy.check_drives`). If it `evicts`, an arrival of
    higher priority evicts the running job. It gives drop ratios, timeouts and the budget. A command
    finds its drop ratio in TRIMTAB_DROP_RATIO.

    Times are seconds since creation, on the monotonic clock. `on_event` is called with the time,
    the event, and the job.
    """

    def __init__(
        self,
        jobs: Iterable[QueuedJob],
        policy: Policy,
        sprinter: Sprinter,
        on_event: Event = lambda time_s, event, job: None,
    ) -> None:
        self._policy, self._sprinter, self._on_event = policy, sprinter, on_event
        self._buffers = Buffers(jobs)
        self._timer = SprintTimer(SprintBudget(policy.budget_s, policy.replenish_s_per_s))
        self._running: RunningT | None = None
        self._begun_s = time.monotonic()
        self.allocations: list[Allocation] = []

    def _now_s(self) -> float:
        return time.monotonic() - self._begun_s

    def _note_start(self, running: RunningT) -> None:
        self._running = running
        timeout_s = self._policy.timeout_s.get(running.job.job_class)
        self._timer.start(running.allocation_start_s, timeout_s)

    def _free(self) -> None:
        """Forget the job: it has ended or was evicted."""
        if self._timer.sprinting:
            self._sprinter.rest()
        self._timer.stop(self._now_s())
        self._running = None

    def _turn_sprint(self) -> None:
        """Begin or end the running job's sprint, if it is time."""
        now_s, running = self._now_s(), self._running
        if running is None or self._timer.deadline_s > now_s:
            return
        self._timer.fire(now_s)
        if running.level == self._timer.sprinting:  # the budget is empty
            return
        self._close_allocation(running, now_s, "level")
        running.level = int(self._timer.sprinting)
        if self._timer.sprinting:
            self._sprinter.sprint()
        else:
            self._sprinter.rest()
        self._on_event(now_s, "sprints" if self._timer.sprinting else "rests", running.job.job)

    def _close_allocation(self, running: QueueRunningJob, end_s: float, end: str) -> None:
        level, start_s = running.level, running.allocation_start_s
        milli = self._sprinter.sprint_milli if level else self._sprinter.normal_milli
        self.allocations.append(
            Allocation(running.job.job, 0, level, milli, start_s, start_s, end_s, end)
        )
        running.allocation_start_s = end_s
