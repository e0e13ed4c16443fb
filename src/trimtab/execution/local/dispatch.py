"""DiAS on this machine: real commands, one at a time, by priority (Rocha's thesis, section 4.4.1).

The queue is the thesis' deflator with dispatcher, monitor and sprinter in one loop, which waits
for whichever comes first: an arrival, the end of a process, a sprint's timer, an empty budget.
Eviction is SIGKILL to every process of the job; it goes back to the head of its buffer and starts
again from the beginning.
"""

import heapq
import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

import pandas as pd

from trimtab.execution.buffers import Buffers
from trimtab.execution.commands import DispatchPolicy, QueuedCommand, check_commands
from trimtab.execution.history import JobOutcome, Stay, jobs_table, stays_table
from trimtab.execution.local.executions import CANNOT_START, Execution, kill, new_mark
from trimtab.execution.sprinting.choose import find_sprinter
from trimtab.execution.sprinting.sprint_timer import SprintTimer
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.sprint_budget import SprintBudget
from trimtab.profiling.meters.active_energy import ActiveEnergyMeter, EnergyReading
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel

_SPRINT_LEVEL = 1


Event = Callable[[float, str, int], None]


def run_commands(
    jobs: Sequence[QueuedCommand],
    policy: DispatchPolicy,
    *,
    log_dir: Path,
    on_event: Event | None = None,
    sprinter: Sprinter | None = None,
    hardware: HardwareModel = NO_POWER_MODEL,
) -> JobOutcome:
    """Run every command and return what became of it; a command that fails is reported.

    `log_dir` receives `{job}.stdout` and `.stderr` of each job's last execution. `on_event` is
    called with seconds since the start, what happened (arrived, started, sprints, rests, evicted,
    finished, failed) and the job. Without a `sprinter` the machine's best one is used if the
    policy sprints. `hardware` models the energy where it cannot be measured; without it the
    joules are NaN. The node of a job is the number of its server; its level is 1 in a sprint.

    The job ends with its first process; those that it leaves behind are killed, as are all when
    this function is left by an error, Ctrl-C or SIGTERM. Raises UserError before anything starts
    when a job is wrong.
    """
    check_commands(jobs)
    log_dir.mkdir(parents=True, exist_ok=True)
    if policy.sprints and sprinter is None:
        sprinter = find_sprinter()
    meter = ActiveEnergyMeter(hardware)
    with ExitStack() as stack:
        if sprinter is not None:
            stack.enter_context(sprinter)
        stack.enter_context(_interrupted_by_sigterm())
        queue = stack.enter_context(
            _CommandQueue(jobs, policy, log_dir, on_event or _nothing, sprinter, meter)
        )
        queue.run()
    trace = pd.DataFrame(
        [(job.job, job.job_class, job.priority, job.arrival_s) for job in jobs],
        columns=["job", "job_class", "priority", "arrival_s"],
    )
    return JobOutcome(
        jobs_table(trace, queue.stays, sprint_level=_SPRINT_LEVEL, energy_j=queue.energy_j),
        stays_table(queue.stays),
        queue.exit_codes,
        sprinter.description if sprinter is not None else "none",
        meter.method,
    )


@dataclass(slots=True)
class _RunningCommand:
    """A job on a server: its execution, and the stay that has not ended yet."""

    job: QueuedCommand
    server: int
    execution: Execution
    reading: EnergyReading
    stay_start_s: float
    level: int = 0


class _CommandQueue:
    """The loop. Times are seconds since it was made, on the monotonic clock."""

    def __init__(
        self,
        jobs: Sequence[QueuedCommand],
        policy: DispatchPolicy,
        log_dir: Path,
        on_event: Event,
        sprinter: Sprinter | None,
        meter: ActiveEnergyMeter,
    ) -> None:
        self._policy, self._log_dir, self._on_event = policy, log_dir, on_event
        self._sprinter, self._meter = sprinter, meter
        self._buffers = Buffers(jobs)
        self._running: dict[int, _RunningCommand] = {}
        self._free = list(range(policy.servers))
        self._timer = SprintTimer(SprintBudget(policy.budget_s, policy.replenish_s_per_s))
        self._ends = selectors.DefaultSelector()
        self._mark = new_mark("TRIMTAB_QUEUE")
        self._started_at = time.monotonic()
        self.stays: list[Stay] = []
        self.exit_codes: dict[int, int] = {}
        self.energy_j: dict[int, float] = dict.fromkeys((job.job for job in jobs), 0.0)

    def __enter__(self) -> "_CommandQueue":
        return self

    def __exit__(self, *_: object) -> None:
        kill(self._mark)
        self._ends.close()

    def run(self) -> None:
        """Run until every job has ended."""
        while self._buffers or self._running:
            self._admit()
            self._dispatch()
            for key, _ in self._ends.select(self._patience_s()):
                self._end(key.data)
            if self._timer.deadline_s <= self._now_s():
                self._turn_sprint()
            self._meter.read(self._now_s())

    def _now_s(self) -> float:
        return time.monotonic() - self._started_at

    def _patience_s(self) -> float:
        deadline_s = min(self._buffers.next_arrival_s, self._timer.deadline_s)
        return max(0.0, min(deadline_s - self._now_s(), self._meter.READ_AT_LEAST_EVERY_S))

    def _admit(self) -> None:
        for job in self._buffers.admit(self._now_s()):
            self._on_event(self._now_s(), "arrived", job.job)

    def _dispatch(self) -> None:
        """Start the heads of the highest buffers, in place of lower jobs if that is the policy."""
        while (highest := self._buffers.highest) is not None:
            if not self._free:
                lowest = min(
                    self._running.values(),
                    key=lambda running: (running.job.priority, -running.stay_start_s),
                )
                if not self._policy.preemptive or lowest.job.priority >= highest:
                    return
                self._evict(lowest)
            self._start(self._buffers.take(highest))

    def _start(self, job: QueuedCommand) -> None:
        ratio = self._policy.drop_ratio.get(job.priority, 0.0)
        name, _, value = self._mark.partition("=")
        environment = {**os.environ, "TRIMTAB_DROP_RATIO": repr(float(ratio)), name: value}
        command = self._sprinter.wrap(job.command) if self._sprinter else job.command
        stderr = self._log_dir / f"{job.job}.stderr"
        server, start_s = self._free[0], self._now_s()
        reading = self._meter.read(start_s)
        try:
            execution = Execution(command, environment, self._log_dir / f"{job.job}.stdout", stderr)
        except OSError as error:
            stderr.write_text(f"{error}\n")
            self.exit_codes[job.job] = CANNOT_START
            self._note_stay(job, server, 0, start_s, start_s, "failed")
            self._on_event(start_s, "failed", job.job)
            return
        running = _RunningCommand(job, server, execution, reading, start_s)
        self._running[execution.pid] = running
        heapq.heappop(self._free)
        self._ends.register(execution, selectors.EVENT_READ, running)
        if self._sprinter is not None:
            self._sprinter.attach(execution)
        self._timer.start(start_s, self._policy.sprint_timeout_s.get(job.priority))
        self._on_event(start_s, "started", job.job)

    def _evict(self, running: _RunningCommand) -> None:
        """Kill a job and put it back, unless it has ended by itself in this very moment."""
        exit_code, end_s = self._leave(running), self._now_s()
        if exit_code != -signal.SIGKILL:
            self._note_end(running, end_s, exit_code)
            return
        self._buffers.put_back(running.job)
        self._close_stay(running, end_s, "evicted")
        self._on_event(end_s, "evicted", running.job.job)

    def _end(self, running: _RunningCommand) -> None:
        end_s = self._now_s()
        self._note_end(running, end_s, self._leave(running))

    def _leave(self, running: _RunningCommand) -> int:
        """Free the server; return the exit code."""
        self._ends.unregister(running.execution)
        exit_code, cpu_s = running.execution.end()
        del self._running[running.execution.pid]
        heapq.heappush(self._free, running.server)
        now_s = self._now_s()
        self.energy_j[running.job.job] += self._meter.since(running.reading, now_s, cpu_s)
        if self._sprinter is not None and self._timer.sprinting:
            self._sprinter.rest()
        self._timer.stop(now_s)
        return exit_code

    def _note_end(self, running: _RunningCommand, end_s: float, exit_code: int) -> None:
        self.exit_codes[running.job.job] = exit_code
        end = "finished" if exit_code == 0 else "failed"
        self._close_stay(running, end_s, end)
        self._on_event(end_s, end, running.job.job)

    def _turn_sprint(self) -> None:
        """Begin or end the sprint of the one job that runs."""
        assert self._sprinter is not None
        (running,) = self._running.values()
        was_sprinting = self._timer.sprinting
        now_s = self._now_s()
        self._timer.fire(now_s)
        if self._timer.sprinting == was_sprinting:  # the budget is empty
            return
        self._close_stay(running, now_s, "level")
        if self._timer.sprinting:
            self._sprinter.sprint()
            running.level = _SPRINT_LEVEL
        else:
            self._sprinter.rest()
            running.level = 0
        event = "sprints" if self._timer.sprinting else "rests"
        self._on_event(now_s, event, running.job.job)

    def _close_stay(self, running: _RunningCommand, end_s: float, end: str) -> None:
        self._note_stay(
            running.job, running.server, running.level, running.stay_start_s, end_s, end
        )
        running.stay_start_s = end_s

    def _note_stay(
        self, job: QueuedCommand, server: int, level: int, start_s: float, end_s: float, end: str
    ) -> None:
        milli = self._cpu_milli(level)
        self.stays.append(Stay(job.job, server, level, milli, start_s, start_s, end_s, end))

    def _cpu_milli(self, level: int) -> int:
        if self._sprinter is None:
            return 1000 * len(os.sched_getaffinity(0)) // self._policy.servers
        return self._sprinter.sprint_milli if level else self._sprinter.normal_milli


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Leave the block by SystemExit on SIGTERM, so that what cleans up behind it runs."""
    if current_thread() is not main_thread():
        yield
        return

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _nothing(_time_s: float, _event: str, _job: int) -> None:
    return None
