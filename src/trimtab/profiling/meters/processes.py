"""Which processes belong to a run: its first process and everything that descends from it.

A process belongs to the run if it is in the session of the run's first process, or if its parent
belongs to the run. A daemon leaves the session and loses its parent; so that it is not lost, the
measuring process makes itself the one that orphans are given to (`PR_SET_CHILD_SUBREAPER`,
prctl(2)) while a run lasts. The fields of /proc/PID/stat are those of proc_pid_stat(5).
"""

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_KILL_PATIENCE_S = 10.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Stat:
    """One reading of /proc/PID/stat; `reaped_*` sums the children that were waited for."""

    pid: int
    parent: int
    session: int
    start_ticks: int
    is_zombie: bool
    cpu_s: float
    minor_faults: int
    major_faults: int
    reaped_cpu_s: float
    reaped_minor_faults: int
    reaped_major_faults: int


def parse_stat(line: str) -> Stat:
    """Return the fields of one /proc/PID/stat line; the name may hold spaces and brackets."""
    head, _, tail = line.rpartition(")")
    fields = tail.split()
    numbers = [int(field) for field in fields[1:20]]
    return Stat(
        pid=int(head.split(" ", 1)[0]),
        parent=numbers[0],
        session=numbers[2],
        start_ticks=numbers[18],
        # Where others go on without the first thread, that one is a zombie, and the process none.
        is_zombie=fields[0] in "ZX" and numbers[16] <= 1,
        cpu_s=(numbers[10] + numbers[11]) / _TICKS_PER_S,
        minor_faults=numbers[6],
        major_faults=numbers[8],
        reaped_cpu_s=(numbers[12] + numbers[13]) / _TICKS_PER_S,
        reaped_minor_faults=numbers[7],
        reaped_major_faults=numbers[9],
    )


def read_stat(pid: int) -> Stat | None:
    """Return what /proc says about `pid`, or None when it is gone."""
    try:
        return parse_stat((_PROC / str(pid) / "stat").read_text(errors="replace"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def children_of(pid: int) -> list[int]:
    """Return the children of a process that have not ended, by number."""
    stats = [stat for each in sorted(_listed()) if (stat := read_stat(each)) is not None]
    return [stat.pid for stat in stats if stat.parent == pid and not stat.is_zombie]


def with_descendants(pid: int) -> set[int]:
    """Return the number of a process with those of all that descend from it and have not ended."""
    stats = [stat for each in sorted(_listed()) if (stat := read_stat(each)) is not None]
    family, before = {pid}, 0
    while len(family) > before:
        before = len(family)
        family |= {stat.pid for stat in stats if stat.parent in family and not stat.is_zombie}
    return family


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Make this process the parent of orphaned descendants while the block runs."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


class RunProcesses:
    """The processes of one run.

    Make it before the run starts: what exists then is not of the run, and neither is what this
    process starts in its own session later on. `leader` is the run's first process, to be set
    when it is there; the first process has to lead a session of its own. In a container the session
    of others may be 0: its leader is outside.

    Where several runs go on at once, orphans cannot be told apart: each run's processes then have
    its `mark`, NAME=value, in their environment, and by it they are found. `killed` are the
    numbers of those that `kill` ended.
    """

    def __init__(self, mark: str | None = None) -> None:
        self.leader: int | None = None
        self._mark = None if mark is None else f"\0{mark}\0".encode()
        self.killed: set[int] = set()
        self._strangers = _listed()
        self._members: dict[int, int] = {}

    def living(self) -> list[Stat]:
        """Return the run's processes, ended ones that nobody waited for included, oldest first.

        A process is read after its ancestors: so one that ends meanwhile is missing from a sum
        over processes and the children they waited for, and never counted twice.
        """
        listed = _listed()
        self._strangers &= listed
        self._members = {pid: start for pid, start in self._members.items() if pid in listed}
        unknown = {
            stat.pid: stat
            for pid in listed - self._strangers - self._members.keys()
            if (stat := read_stat(pid)) is not None
        }
        while joined := [stat for stat in unknown.values() if self._belongs(stat)]:
            for stat in joined:
                self._members[stat.pid] = stat.start_ticks
                del unknown[stat.pid]
        self._strangers |= unknown.keys()
        oldest_first = sorted(self._members, key=lambda pid: (self._members[pid], pid))
        return [stat for pid in oldest_first if (stat := read_stat(pid)) is not None]

    @property
    def members(self) -> list[int]:
        """The numbers of the processes that `living` last found, or of those that followed."""
        return list(self._members)

    def kill(self) -> int:
        """Kill every process of the run; return how many there were."""
        killed = set()
        deadline = time.monotonic() + _KILL_PATIENCE_S
        while alive := [stat for stat in self.living() if not stat.is_zombie]:
            for stat in alive:
                killed.add((stat.pid, stat.start_ticks))
                self.killed.add(stat.pid)
                with suppress(ProcessLookupError):
                    os.kill(stat.pid, signal.SIGKILL)
            if time.monotonic() > deadline:  # stuck in the kernel: nothing more can be done
                break
            time.sleep(0.001)
        return len(killed)

    def _belongs(self, stat: Stat) -> bool:
        if self.leader in (stat.pid, stat.session) or stat.parent in self._members:
            return True
        if self._mark is not None:
            return self._mark in environment_of(stat.pid)
        return stat.parent == os.getpid() and stat.session != os.getsid(0)


def environment_of(pid: int) -> bytes:
    """Return a process' environment with a null byte around each entry; empty if not ours."""
    try:
        return b"\0" + (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def _listed() -> set[int]:
    return {int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit()}
