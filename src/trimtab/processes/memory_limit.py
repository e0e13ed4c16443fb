"""The memory limit of a running trial.

Where a control group can be made, of version 2 (Documentation/admin-guide/cgroup-v2.rst,
memory.max) or 1 (Documentation/admin-guide/cgroup-v1/memory.rst), the limit is for all its
processes together, without swapping. Else each process has its own limit, RLIMIT_DATA of
getrlimit(2): private writable memory. RLIMIT_AS would also count reserved memory: several times the
memory that PyTorch uses.
"""

import re
import resource
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

from trimtab.errors import UserError
from trimtab.processes.control_groups import HasProcesses, make_group, move_into, remove_group

_KIB = 1024
_KILLED = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class MemoryLimit(ABC):
    """The limit of one trial; `description` says how it is set."""

    description: str

    @abstractmethod
    def set(self, job: HasProcesses, limit_bytes: int) -> None:
        """Limit the job's memory from now on.

        Raises UserError where it uses more, or the machine does not allow the limit.
        """

    def oom_killed(self) -> bool:
        """Whether the limit has killed a process."""
        return False

    def close(self) -> None:
        """Clean up; the job has ended."""
        return None


class GroupMemory(MemoryLimit):
    """The memory of the trial's own control group, given empty."""

    def __init__(self, group: Path) -> None:
        self._group = group
        second = (group / "memory.max").exists()
        self._limit = group / ("memory.max" if second else "memory.limit_in_bytes")
        self._events = group / ("memory.events" if second else "memory.oom_control")
        self._own_key = "anon" if second else "rss"
        swap = ("memory.swap.max", "memory.swappiness")[not second]
        with suppress(OSError):  # a kernel without swap, or without its accounting
            (group / swap).write_text("0")
        self.description = "of all processes together, by a control group"

    def set(self, job: HasProcesses, limit_bytes: int) -> None:
        """Write the limit and move the job's processes into the group."""
        self._check_held(limit_bytes)
        try:
            self._limit.write_text(str(limit_bytes))
        except OSError as error:
            raise UserError(f"{self._limit}: {error.strerror}") from None
        move_into(self._group, job)

    def oom_killed(self) -> bool:
        """Whether the kernel has killed a process of the group for memory."""
        return kills_for_memory(self._events) > 0

    def close(self) -> None:
        """Remove the group."""
        remove_group(self._group)

    def _check_held(self, limit_bytes: int) -> None:
        """Raise UserError above the limit, where version 2 would kill a process."""
        text = (self._group / "memory.stat").read_text()
        fields = dict(line.split() for line in text.splitlines())
        _check(int(fields[self._own_key]), limit_bytes)


class ProcessMemory(MemoryLimit):
    """A limit of each process' data; `why` says why there is no common limit."""

    def __init__(self, why: str) -> None:
        self.description = f"of each process by itself (RLIMIT_DATA): {why}"

    def set(self, job: HasProcesses, limit_bytes: int) -> None:
        """Limit every process and its children, until none is without a limit."""
        limited: set[int] = set()
        while new := {one.pid for one in job.processes()} - limited:
            for process in new:
                _check(_data_bytes(process), limit_bytes)
                with suppress(ProcessLookupError):
                    resource.prlimit(process, resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
            limited |= new


def memory_limit() -> MemoryLimit:
    """Return the best kind of limit on this machine."""
    try:
        return GroupMemory(make_group("memory"))
    except UserError as error:
        return ProcessMemory(str(error))


def kills_for_memory(counts: Path = Path("/proc/vmstat")) -> int:
    """Return how many processes the kernel has killed for memory: a group's, or the machine's."""
    try:
        found = _KILLED.search(counts.read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _check(held_bytes: int, limit_bytes: int) -> None:
    if held_bytes > limit_bytes:
        raise UserError(f"the trial holds {held_bytes} bytes, which is more than {limit_bytes}")


def _data_bytes(process: int) -> int:
    try:
        text = Path(f"/proc/{process}/status").read_text(errors="replace")
    except OSError:
        return 0
    found = re.search(r"^VmData:\s*(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * _KIB if found else 0
