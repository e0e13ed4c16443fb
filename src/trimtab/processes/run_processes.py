"""The processes of a run: its first process and all descendants.

A process belongs to the run if it is in the session of the run's first process, or if its parent
belongs to the run. A daemon leaves the session and loses its parent; so that it is not lost, the
measuring process makes itself the one that orphans are given to (`PR_SET_CHILD_SUBREAPER`,
prctl(2)) while a run lasts.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.processes.ending import kill_all
from trimtab.processes.stat import Stat, all_pids, environment_of, read_stat

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Make this process adopt orphaned descendants during the block."""
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

    Make it before the run starts: processes that exist then are not of the run, nor are later
    children of this process in its own session. `leader` is the run's first process, set after its
    start; it has to lead its own session. In a container the session of other processes may be 0:
    its leader is outside.

    The orphans of simultaneous runs cannot be told apart: each run then puts its `mark`,
    NAME=value, into its processes' environment, to find them. `killed` are the numbers of the
    processes that `kill` ended.
    """

    def __init__(self, mark: str | None = None) -> None:
        self.leader: int | None = None
        self._mark = None if mark is None else f"\0{mark}\0".encode()
        self.killed: set[int] = set()
        self._strangers = all_pids()
        self._members: dict[int, int] = {}

    def living(self) -> list[Stat]:
        """Return the run's processes, oldest first, including ended ones that nobody reaped.

        A process is read after its ancestors. So a process that ends meanwhile may be missing from
        a sum over processes and their reaped children, but never counts twice.
        """
        listed = all_pids()
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
        """The numbers of the processes that the last call of `living` found."""
        return list(self._members)

    def kill(self) -> int:
        """Kill every process of the run; return their number."""
        killed = kill_all(lambda: [stat for stat in self.living() if not stat.is_zombie])
        self.killed |= {stat.pid for stat in killed}
        return len(killed)

    def _belongs(self, stat: Stat) -> bool:
        if self.leader in (stat.pid, stat.session) or stat.parent in self._members:
            return True
        if self._mark is not None:
            return self._mark in environment_of(stat.pid)
        return stat.parent == os.getpid() and stat.session != os.getsid(0)
