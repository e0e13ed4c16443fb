"""DiAS on this machine: real commands, one at a time, by priority (Rocha's thesis, section 4.4.1).

The queue is the thesis' deflator: dispatcher, monitor and sprinter in one loop. The loop waits for
the next arrival, end of a process, sprint timer or empty budget. Eviction is SIGKILL to every
process of the job; the job returns to the head of its buffer and restarts.
"""

import os
import select
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

import pandas as pd

from trimtab.errors import UserError
from trimtab.execution.history import JobOutcome, allocations_table, jobs_table
from trimtab.execution.job_queue import Event, JobQueue, QueuedJob, QueueRunningJob
from trimtab.execution.sprinting.choose import find_sprinter
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.base import Policy
from trimtab.processes.ending import kill, new_mark
from trimtab.processes.execution import CANNOT_START, Execution
from trimtab.profiling.meters.active_energy import ActiveEnergyMeter, EnergyReading
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel


def run_commands(
    jobs: Sequence[QueuedJob],
    policy: Policy,
    *,
    log_dir: Path,
    on_event: Event = lambda time_s, event, job: None,
    sprinter: Sprinter | None = None,
    hardware: HardwareModel = NO_POWER_MODEL,
) -> JobOutcome:
    """Run all commands and return their results; failed ones are reported.

    `log_dir` receives `{job}.stdout` and `.stderr` of each job's last execution. `on_event` is
    called with seconds since the start, the event (arrived, started, sprints, rests, evicted,
    finished, failed) and the job. `sprinter` defaults to the machine's best one if the policy
    sprints. `hardware` models the energy where it cannot be measured; without it the joules are
    NaN. The node is always 0; a job's level is 1 in a sprint.

    A job ends with its first process; its other processes are killed. An error, Ctrl-C or SIGTERM
    kills all of them. Raises UserError for an invalid job before anything starts.
    """
    _check_commands(jobs)
    log_dir.mkdir(parents=True, exist_ok=True)
    sprinter = sprinter or find_sprinter(bool(policy.timeout_s))
    meter = ActiveEnergyMeter(hardware)
    with ExitStack() as stack:
        stack.enter_context(sprinter)
        stack.enter_context(_interrupted_by_sigterm())
        queue = _CommandQueue(jobs, policy, sprinter, on_event, log_dir, meter)
        stack.callback(queue.kill)
        queue.run()
    trace = pd.DataFrame(
        [(job.job, job.job_class, job.priority, job.arrival_s) for job in jobs],
        columns=["job", "job_class", "priority", "arrival_s"],
    )
    return JobOutcome(
        jobs_table(trace, queue.allocations, sprint_level=1, energy_j=queue.energy_j),
        allocations_table(queue.allocations),
        queue.exit_codes,
        sprinter.description,
        meter.method,
    )


def _check_commands(jobs: Sequence[QueuedJob]) -> None:
    """Raise UserError for an invalid job."""
    seen: set[int] = set()
    for job in jobs:
        if job.job in seen:
            raise UserError(f"job {job.job}: there are two of them; each needs a number of its own")
        seen.add(job.job)
        if not 0 <= job.arrival_s < inf:
            raise UserError(f"job {job.job}: arrival_s: {job.arrival_s} is not at least 0 s")
        if not job.command:
            raise UserError(f"job {job.job}: the command is empty")
        if shutil.which(job.command[0]) is None:
            raise UserError(f"job {job.job}: command: {job.command[0]}: no such program")


@dataclass(slots=True)
class _RunningCommand(QueueRunningJob):
    execution: Execution
    reading: EnergyReading


class _CommandQueue(JobQueue[_RunningCommand]):
    """The loop."""

    def __init__(
        self,
        jobs: Sequence[QueuedJob],
        policy: Policy,
        sprinter: Sprinter,
        on_event: Event,
        log_dir: Path,
        meter: ActiveEnergyMeter,
    ) -> None:
        super().__init__(jobs, policy, sprinter, on_event)
        self._log_dir, self._meter = log_dir, meter
        self._mark = new_mark("TRIMTAB_QUEUE")
        self.exit_codes: dict[int, int] = {}
        self.energy_j: dict[int, float] = dict.fromkeys((job.job for job in jobs), 0.0)

    def kill(self) -> None:
        """Kill all remaining processes of jobs."""
        kill(self._mark)

    def run(self) -> None:
        """Run until every job has ended."""
        while self._buffers or self._running:
            for job in self._buffers.admit(self._now_s()):
                self._on_event(self._now_s(), "arrived", job.job)
            self._dispatch()
            if self._wait():
                self._end()
            self._turn_sprint()
            self._meter.read(self._now_s())

    def _wait(self) -> bool:
        """Wait for the job's end or the next timed event; return whether the job has ended."""
        deadline_s = min(self._buffers.next_arrival_s, self._timer.deadline_s)
        patience_s = max(0.0, min(deadline_s - self._now_s(), self._meter.READ_AT_LEAST_EVERY_S))
        executions = [self._running.execution] if self._running else []
        return bool(select.select(executions, [], [], patience_s)[0])

    def _dispatch(self) -> None:
        """Start the head of the highest buffer; evict a lower job if the policy says so."""
        while (highest := self._buffers.highest) is not None:
            if self._running is not None:
                if not self._policy.evicts or self._running.job.priority >= highest:
                    return
                self._evict(self._running)
            self._start(self._buffers.take(highest))

    def _start(self, job: QueuedJob) -> None:
        ratio = self._policy.drop_ratio.get(job.job_class, 0.0)
        name, _, value = self._mark.partition("=")
        environment = {**os.environ, "TRIMTAB_DROP_RATIO": repr(float(ratio)), name: value}
        command = self._sprinter.wrap(job.command)
        stderr = self._log_dir / f"{job.job}.stderr"
        start_s = self._now_s()
        reading = self._meter.read(start_s)
        try:
            execution = Execution(command, environment, self._log_dir / f"{job.job}.stdout", stderr)
        except OSError as error:
            stderr.write_text(f"{error}\n")
            self._note_end(QueueRunningJob(job, start_s), start_s, CANNOT_START)
            return
        self._note_start(_RunningCommand(job, start_s, execution, reading))
        self._sprinter.attach(execution)
        self._on_event(start_s, "started", job.job)

    def _evict(self, running: _RunningCommand) -> None:
        """Kill a job and put it back, unless it has just ended by itself."""
        exit_code, end_s = self._leave(running), self._now_s()
        if exit_code != -signal.SIGKILL:
            self._note_end(running, end_s, exit_code)
            return
        self._buffers.put_back(running.job)
        self._close_allocation(running, end_s, "evicted")
        self._on_event(end_s, "evicted", running.job.job)

    def _end(self) -> None:
        running, end_s = self._running, self._now_s()
        assert running is not None
        self._note_end(running, end_s, self._leave(running))

    def _leave(self, running: _RunningCommand) -> int:
        """End the job's execution; return the exit code."""
        exit_code, cpu_s = running.execution.end()
        self.energy_j[running.job.job] += self._meter.since(running.reading, self._now_s(), cpu_s)
        self._free()
        return exit_code

    def _note_end(self, running: QueueRunningJob, end_s: float, exit_code: int) -> None:
        self.exit_codes[running.job.job] = exit_code
        end = "finished" if exit_code == 0 else "failed"
        self._close_allocation(running, end_s, end)
        self._on_event(end_s, end, running.job.job)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Raise SystemExit on SIGTERM within the block, so that cleanup code runs."""
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
