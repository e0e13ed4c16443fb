"""Jobs that are to come, and a first-come-first-served buffer for each priority of those that wait.

Rocha's thesis, section 4.2.2.
"""

from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Generic, Protocol, TypeVar


class Arriving(Protocol):
    """What the buffers look at in a job."""

    @property
    def job(self) -> int:
        """Its number."""
        ...

    @property
    def arrival_s(self) -> float:
        """When it comes."""
        ...

    @property
    def priority(self) -> int:
        """The higher the more important."""
        ...


Job = TypeVar("Job", bound=Arriving)


class Buffers(Generic[Job]):
    """True as long as any job is to come or waits."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._coming = deque(sorted(jobs, key=lambda job: (job.arrival_s, job.job)))
        self._waiting: dict[int, deque[Job]] = {job.priority: deque() for job in self._coming}

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

    def admit(self, now_s: float) -> list[Job]:
        """Let those wait that have come by now, and return them."""
        admitted = []
        while self.next_arrival_s <= now_s:
            job = self._coming.popleft()
            self._waiting[job.priority].append(job)
            admitted.append(job)
        return admitted

    def take(self, priority: int) -> Job:
        """Return the first that waits of this priority; it waits no longer."""
        return self._waiting[priority].popleft()

    def put_back(self, job: Job) -> None:
        """Let a job that was taken wait again, as the first of its priority."""
        self._waiting[job.priority].appendleft(job)
