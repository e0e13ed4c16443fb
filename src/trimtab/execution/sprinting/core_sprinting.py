"""Sprinting by cores, where frequencies cannot be set, as in most virtual machines.

A job normally has one core and sprints on all of them, which speeds up only parallel work.
"""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from trimtab.errors import UserError
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.processes.control_groups import (
    HasProcesses,
    group_of,
    members,
    move,
    move_into,
    remove_group,
)

_NORMAL_CORES = 1


class QuotaSprinter(Sprinter):
    """A control group's CPU quota: normally one core's time, all cores' time in a sprint.

    `group` is an empty control group for this sprinter alone, with cpu.max (version 2) or
    cpu.cfs_quota_us (version 1); see Documentation/admin-guide/cgroup-v2.rst. At the end it is
    removed, and live processes return to their earlier groups.
    """

    def __init__(self, group: Path) -> None:
        self._group, self._home = group, Path()
        cores = len(os.sched_getaffinity(0))
        self.normal_milli, self.sprint_milli = 1000 * _NORMAL_CORES, 1000 * cores
        if (group / "cpu.max").exists():
            self._file, self._all, period = group / "cpu.max", "max", " 100000"
        else:
            self._file, self._all, period = group / "cpu.cfs_quota_us", "-1", ""
        self._one = f"{100_000 * _NORMAL_CORES}{period}"
        self.description = (
            f"by control group quota: {_NORMAL_CORES} core's time, sprints on all {cores}"
        )

    def wrap(self, command: Sequence[str]) -> Sequence[str]:
        """Return a shell command that joins the group and becomes `command`."""
        join = 'echo $$ > "$0" && exec "$@"'
        return ["/bin/sh", "-c", join, str(self._group / "cgroup.procs"), *command]

    def attach(self, job: HasProcesses) -> None:
        """Move the job's processes into the group, until all are moved.

        Raises UserError where the machine does not allow that.
        """
        for process in {one.pid for one in job.processes()} - members(self._group):
            with suppress(ProcessLookupError, FileNotFoundError):
                self._home = group_of(process, self._group)
        move_into(self._group, job)

    def sprint(self) -> None:
        """Lift the quota."""
        self._file.write_text(self._all)

    def rest(self) -> None:
        """Set the quota to one core's time."""
        self._file.write_text(self._one)

    def restore(self) -> None:
        """Remove the group; it is empty shortly after its last process has died or left."""
        moved: set[int] = set()
        while self._home.name and (staying := members(self._group) - moved):
            moved |= staying
            for process in staying:
                move(process, self._home)
        remove_group(self._group)


class AffinitySprinter(Sprinter):
    """The cores of the job's threads: normally one, all of them in a sprint.

    Threads that start during a change inherit their parents' cores.
    """

    def __init__(self) -> None:
        self._cpus = sorted(os.sched_getaffinity(0))
        if len(self._cpus) < 2:
            raise UserError("there is one core only: no more can be given to a job that sprints")
        if shutil.which("taskset") is None:
            raise UserError("taskset is missing: apt-get install util-linux")
        self._job: HasProcesses | None = None
        self.normal_milli, self.sprint_milli = 1000 * _NORMAL_CORES, 1000 * len(self._cpus)
        self.description = (
            f"by core affinity: {_NORMAL_CORES} core, sprints on all {len(self._cpus)}"
        )

    def wrap(self, command: Sequence[str]) -> Sequence[str]:
        """Return the command that starts `command` on the first core."""
        return ["taskset", "--cpu-list", str(self._cpus[0]), *command]

    def attach(self, job: HasProcesses) -> None:
        """Set the job whose threads are moved."""
        self._job = job

    def sprint(self) -> None:
        """Let the job's threads use all cores."""
        self._allow(self._cpus)

    def rest(self) -> None:
        """Let the job's threads use only the first core."""
        self._allow(self._cpus[:_NORMAL_CORES])

    def _allow(self, cpus: Sequence[int]) -> None:
        if self._job is not None:
            set_affinity(self._job, cpus)


def set_affinity(job: HasProcesses, cpus: Sequence[int]) -> None:
    """Bind the job's threads to `cpus`, one by one, until all are bound.

    Raises OSError where none of the CPUs may be used.
    """
    moved: set[int] = set()
    while new := _threads(job) - moved:
        for thread in new:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cpus)
        moved |= new


def _threads(job: HasProcesses) -> set[int]:
    found: set[int] = set()
    for process in job.processes():
        with suppress(OSError):
            found |= {int(entry.name) for entry in os.scandir(f"/proc/{process.pid}/task")}
    return found
