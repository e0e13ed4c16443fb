"""The share of the time in which a running trial may use its CPUs: a slower processor.

All processes of the trial are stopped and continued together, in turns of 5 ms; stopping takes
about 0.2 ms. Over many turns the mean speed is right. Within a turn they run at full speed or not
at all, so the tails of shorter times are an artefact.

A control group's bandwidth (cpu.max) is not used: with several cores, one of them uses up the
others' time, and threads wait for each other (docs/methods/inference.md has figures). But where a
group can be made, the trial gets one, for priority over other work of the machine.
"""

import os
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from trimtab.errors import UserError
from trimtab.processes.control_groups import HasProcesses, make_group, move_into, remove_group

RUN_S = 0.005
_NEW_PROCESSES_S = 0.1
_MOST_WEIGHT = {"cpu.weight": 10_000, "cpu.shares": 262_144}


class CpuShare:
    """The limit of one trial; `close` ends it. `first` says whether it has priority."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._share = 1.0
        self._group: Path | None = None
        if os.sched_getscheduler(0) == os.SCHED_OTHER:  # others have priority anyway, and no group
            with suppress(UserError):
                self._group = make_group("cpu")
        self.first = False
        for name, weight in _MOST_WEIGHT.items():
            if self._group is not None and (self._group / name).exists():
                with suppress(OSError):
                    (self._group / name).write_text(str(weight))
                    self.first = True

    def set(self, job: HasProcesses, share: float) -> None:
        """Let the job run for `share` of the time, above 0 and up to 1."""
        if not 0 < share <= 1:
            raise UserError(f"a share of {share:g} of the time: expected above 0 and up to 1")
        if self._group is not None:
            move_into(self._group, job)
        if share == 1:
            self._end_thread()
        self._share = share
        if share < 1 and self._thread is None:
            self._thread = threading.Thread(target=self._alternate, args=(job,), daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Clean up; the job has ended."""
        self._end_thread()
        if self._group is not None:
            remove_group(self._group)

    def _end_thread(self) -> None:
        """End the turns; the job runs on."""
        if self._thread is not None:
            self._ending.set()
            self._thread.join()
            self._thread = None
            self._ending.clear()

    def _alternate(self, job: HasProcesses) -> None:
        """Stop and continue the job in turns; a turn's excess shortens the next one."""
        if os.sched_getscheduler(0) == os.SCHED_OTHER:  # else it would be late on a busy machine
            with suppress(PermissionError):
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # only this thread
        owed_s = 0.0  # of being stopped
        looked_at = float("-inf")
        with ExitStack() as processes:
            handles: list[int] = []
            while not self._ending.is_set():
                began = time.monotonic()
                if began - looked_at > _NEW_PROCESSES_S:
                    processes.close()
                    handles = _handles(job, processes)
                    looked_at = began
                self._ending.wait(max(0.0, RUN_S - (time.monotonic() - began)))
                stopped_at = time.monotonic()
                owed_s += (stopped_at - began) * (1 - self._share) / self._share
                if owed_s > 0 and not self._ending.is_set():
                    _send(handles, signal.SIGSTOP)
                    time.sleep(owed_s)
                    _send(handles, signal.SIGCONT)
                    owed_s -= time.monotonic() - stopped_at


def _handles(job: HasProcesses, closing: ExitStack) -> list[int]:
    """Return a handle of each process, which no later one can be taken for, until `closing`."""
    handles = []
    for process in job.processes():
        with suppress(OSError):
            handles.append(os.pidfd_open(process.pid))
            closing.callback(os.close, handles[-1])
    return handles


def _send(handles: Iterable[int], number: signal.Signals) -> None:
    for handle in handles:
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(handle, number)
