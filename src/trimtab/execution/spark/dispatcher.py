"""DiAS' dispatcher for an engine that one job at a time uses whole, such as a Spark session.

Rocha's thesis, sections 4.2.2 and 4.4.1. `trimtab.execution.local.dispatch` does the same for
processes; here a job is a call in a thread.
"""

import threading
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from typing import Protocol

from trimtab.execution.history import Allocation
from trimtab.execution.job_queue import JobQueue, QueuedJob, QueueRunningJob
from trimtab.execution.sprinting.sprinter import NoSprinter, Sprinter
from trimtab.policies.base import Policy

_EVICT_AGAIN_S = 0.1


class JobEngine(Protocol):
    """An engine that runs jobs. `attempt` counts a job's evictions."""

    def run(self, job: QueuedJob, attempt: int) -> bool:
        """Run a job from its start; return False if it was evicted."""
        ...

    def evict(self, job: QueuedJob, attempt: int) -> None:
        """Make the current or imminent `run` of this job return soon; called from another thread.

        It is called repeatedly until `run` has returned.
        """
        ...


@dataclass(slots=True)
class _RunningCall(QueueRunningJob):
    attempt: int
    ended: Future[bool]
    evicting: bool = False


class Dispatcher(JobQueue[_RunningCall]):
    """Runs a trace of jobs in real time on an engine.

    Jobs wait in a first-come-first-served buffer for each priority; a free engine gets the head of
    the highest. Under a preemptive policy, a job of higher priority evicts the running one, which
    restarts from the head of its buffer.
    """

    def __init__(
        self,
        engine: JobEngine,
        jobs: Iterable[QueuedJob],
        policy: Policy,
        sprinter: Sprinter | None = None,
    ) -> None:
        super().__init__(jobs, policy, sprinter or NoSprinter())
        self._engine = engine
        self._changed = threading.Condition()
        self._attempts = Counter[int]()

    def run(self) -> list[Allocation]:
        """Run the jobs, none before it arrives, and return their allocations on the engine, node 0.

        Raises what the engine's `run` raises.
        """
        with ThreadPoolExecutor(1) as thread, self._changed:
            while self._buffers or self._running:
                self._changed.wait_for(self._has_ended, self._patience_s())
                self._leave_if_ended()
                self._turn_sprint()
                self._buffers.admit(self._now_s())
                self._dispatch(thread)
        return self.allocations

    def _has_ended(self) -> bool:
        return self._running is not None and self._running.ended.done()

    def _patience_s(self) -> float | None:
        again_s = inf
        if self._running is not None and self._running.evicting:
            again_s = self._now_s() + _EVICT_AGAIN_S
        deadline_s = min(self._buffers.next_arrival_s, self._timer.deadline_s, again_s)
        return max(0.0, deadline_s - self._now_s()) if deadline_s < inf else None

    def _dispatch(self, thread: ThreadPoolExecutor) -> None:
        highest, running = self._buffers.highest, self._running
        if highest is None:
            return
        if running is None:
            self._start(self._buffers.take(highest), thread)
        elif self._policy.evicts and highest > running.job.priority:
            # Spark ignores the cancellation of a data frame's job before its submission.
            running.evicting = True
            self._engine.evict(running.job, running.attempt)

    def _start(self, job: QueuedJob, thread: ThreadPoolExecutor) -> None:
        attempt, start_s = self._attempts[job.job], self._now_s()
        ended = thread.submit(self._engine.run, job, attempt)
        self._note_start(_RunningCall(job, start_s, attempt, ended))
        ended.add_done_callback(self._notify)

    def _notify(self, _: Future[bool]) -> None:
        with self._changed:
            self._changed.notify()

    def _leave_if_ended(self) -> None:
        running = self._running
        if running is None or not running.ended.done():
            return
        finished = running.ended.result()
        self._close_allocation(running, self._now_s(), "finished" if finished else "evicted")
        self._free()
        if not finished:
            self._attempts[running.job.job] += 1
            self._buffers.put_back(running.job)
