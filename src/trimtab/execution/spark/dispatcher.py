"""DiAS' dispatcher before an engine that one job at a time seizes whole, such as a Spark session.

Rocha's thesis, sections 4.2.2 and 4.4.1. `trimtab.execution.local.dispatch` is its like for
processes; here a job is a call that runs in a thread.
"""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from typing import Protocol

from trimtab.execution.buffers import Buffers
from trimtab.execution.commands import DispatchPolicy
from trimtab.execution.history import Stay
from trimtab.execution.sprinting.sprint_timer import SprintTimer
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.sprint_budget import SprintBudget

_EVICT_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that arrives `arrival_s` seconds after the beginning."""

    job: int
    arrival_s: float
    job_class: str
    priority: int


class Engine(Protocol):
    """What runs the jobs. `attempt` is 0, and one more with each eviction of the job."""

    def run(self, job: Arrival, attempt: int) -> bool:
        """Run a job from its start and return whether it finished, False: it was evicted."""
        ...

    def evict(self, job: Arrival, attempt: int) -> None:
        """Make `run`, which runs this job or is about to, return soon. From another thread.

        It is asked again and again until `run` has returned.
        """
        ...


@dataclass(slots=True)
class _RunningCall:
    job: Arrival
    attempt: int
    stay_start_s: float
    ended: Future[bool]
    evicting: bool = False


class Dispatcher:
    """Runs a trace of jobs in real time on an engine.

    Jobs wait in a first-come-first-served buffer for each priority; whenever the engine is free
    it gets the head of the highest. If the policy is preemptive, a job of higher priority than
    the one running evicts it to the head of its buffer, from where it starts again.
    """

    def __init__(
        self, engine: Engine, policy: DispatchPolicy, sprinter: Sprinter | None = None
    ) -> None:
        self._engine, self._policy, self._sprinter = engine, policy, sprinter
        self._timer = SprintTimer(SprintBudget(policy.budget_s, policy.replenish_s_per_s))
        self._changed = threading.Condition()
        self._buffers: Buffers[Arrival] = Buffers([])
        self._attempts: dict[int, int] = {}
        self._running: _RunningCall | None = None
        self._begun_s = 0.0
        self._stays: list[Stay] = []

    def run(self, arrivals: Sequence[Arrival]) -> list[Stay]:
        """Run the jobs, none before it arrives, and return their stays on the engine, node 0.

        Raises what the engine's `run` raises.
        """
        self._buffers = Buffers(arrivals)
        self._begun_s = time.monotonic()
        with ThreadPoolExecutor(1) as thread, self._changed:
            while self._buffers or self._running:
                self._changed.wait_for(self._has_ended, self._patience_s())
                self._leave_if_ended()
                self._turn_sprint()
                self._buffers.admit(self._now_s())
                self._dispatch(thread)
        return self._stays

    def _now_s(self) -> float:
        return time.monotonic() - self._begun_s

    def _has_ended(self) -> bool:
        return self._running is not None and self._running.ended.done()

    def _patience_s(self) -> float | None:
        again_s = inf
        if self._running is not None and self._running.evicting:
            again_s = self._now_s() + _EVICT_AGAIN_S
        deadline_s = min(self._buffers.next_arrival_s, self._timer.deadline_s, again_s)
        return max(0.0, deadline_s - self._now_s()) if deadline_s < inf else None

    def _dispatch(self, thread: ThreadPoolExecutor) -> None:
        highest = self._buffers.highest
        if highest is None:
            return
        running = self._running
        if running is None:
            self._start(self._buffers.take(highest), thread)
        elif self._policy.preemptive and highest > running.job.priority:
            # Spark forgets the eviction of a data frame's job that it has not been given yet.
            running.evicting = True
            self._engine.evict(running.job, running.attempt)

    def _start(self, job: Arrival, thread: ThreadPoolExecutor) -> None:
        attempt = self._attempts.setdefault(job.job, 0)
        start_s = self._now_s()
        ended = thread.submit(self._engine.run, job, attempt)
        self._running = _RunningCall(job, attempt, start_s, ended)
        self._timer.start(start_s, self._policy.sprint_timeout_s.get(job.priority))
        ended.add_done_callback(self._notify)

    def _notify(self, _: Future[bool]) -> None:
        with self._changed:
            self._changed.notify()

    def _leave_if_ended(self) -> None:
        running = self._running
        if running is None or not running.ended.done():
            return
        finished, now_s = running.ended.result(), self._now_s()
        end = "finished" if finished else "evicted"
        self._close_stay(running, now_s, int(self._timer.sprinting), end)
        if self._timer.sprinting and self._sprinter is not None:
            self._sprinter.rest()
        self._timer.stop(now_s)
        if not finished:
            self._attempts[running.job.job] += 1
            self._buffers.put_back(running.job)
        self._running = None

    def _turn_sprint(self) -> None:
        now_s, running = self._now_s(), self._running
        if running is None or self._sprinter is None or self._timer.deadline_s > now_s:
            return
        before = self._timer.sprinting
        self._timer.fire(now_s)
        if self._timer.sprinting == before:
            return  # the budget is empty
        self._close_stay(running, now_s, int(before), "level")
        if self._timer.sprinting:
            self._sprinter.sprint()
        else:
            self._sprinter.rest()

    def _close_stay(self, running: _RunningCall, end_s: float, level: int, end: str) -> None:
        milli, start_s = self._cpu_milli(level), running.stay_start_s
        self._stays.append(Stay(running.job.job, 0, level, milli, start_s, start_s, end_s, end))
        running.stay_start_s = end_s

    def _cpu_milli(self, level: int) -> int:
        if self._sprinter is None:
            return 1000 * len(os.sched_getaffinity(0))
        return self._sprinter.sprint_milli if level else self._sprinter.normal_milli
