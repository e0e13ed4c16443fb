"""What /proc says of a process; the fields of /proc/PID/stat are those of proc_pid_stat(5)."""

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
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


def living_processes() -> list[Stat]:
    """Return every process that has not ended, by number."""
    stats = [stat for pid in sorted(all_pids()) if (stat := read_stat(pid)) is not None]
    return [stat for stat in stats if not stat.is_zombie]


def children_of(pid: int) -> list[int]:
    """Return the children of a process that have not ended, by number."""
    return [stat.pid for stat in living_processes() if stat.parent == pid]


def family_of(pid: int) -> list[Stat]:
    """Return a process and all that descend from it, of those that have not ended, by number."""
    stats, family, before = living_processes(), {pid}, 0
    while len(family) > before:
        before = len(family)
        family |= {stat.pid for stat in stats if stat.parent in family}
    return [stat for stat in stats if stat.pid in family]


def environment_of(pid: int) -> bytes:
    """Return a process' environment with a null byte around each entry; empty if not ours."""
    try:
        return b"\0" + (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def all_pids() -> set[int]:
    """Return the numbers of all processes."""
    return {int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit()}
