"""The operating system's counts for a run: CPU time, page faults, switches, storage bytes.

At the run's end `wait4` gives exact sums for the first process and every descendant that its parent
reaped (getrusage(2): user and system time, faults, context switches, blocks of 512 bytes read and
written). During the run, /proc gives two sums, both lower bounds:

- the living processes and their reaped children (misses a child that ended and was not reaped, or
  that ends between two reads);
- the last values of every process ever seen (misses processes that lived between two samples).

The counts are the highest of all lower bounds so far. /proc has context switches per thread, so
only the second sum gives these until the end.
"""

import os
import resource
from collections.abc import Iterable
from pathlib import Path

from trimtab.processes.stat import Stat

OS_COUNTERS = (
    "cpu_s",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "read_bytes",
    "write_bytes",
)
_BLOCK_BYTES = 512
_SWITCHES = {
    "voluntary_ctxt_switches": "voluntary_switches",
    "nonvoluntary_ctxt_switches": "involuntary_switches",
}

Counts = dict[str, float]


def counts_of(usage: resource.struct_rusage) -> Counts:
    """Return the counts of a `struct rusage`."""
    return {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
        "voluntary_switches": usage.ru_nvcsw,
        "involuntary_switches": usage.ru_nivcsw,
        "read_bytes": usage.ru_inblock * _BLOCK_BYTES,
        "write_bytes": usage.ru_oublock * _BLOCK_BYTES,
    }


class OsCounters:
    """Sums over the processes of one run; no value ever falls."""

    def __init__(self, leader: int) -> None:
        self.peak_process_bytes = 0
        self._leader = leader
        self._counts: Counts = dict.fromkeys(OS_COUNTERS, 0)
        self._waited_for: Counts = dict.fromkeys(OS_COUNTERS, 0)
        self._last: dict[tuple[int, int], Stat] = {}
        self._switches: dict[tuple[int, int], Counts] = {}

    def watch(self, processes: Iterable[Stat]) -> None:
        """Remember each process's values, and reap orphans that this process adopted."""
        for stat in processes:
            self._last[stat.pid, stat.start_ticks] = stat
            if stat.is_zombie and stat.parent == os.getpid() and stat.pid != self._leader:
                self.wait_for(stat.pid)

    def wait_for(self, pid: int) -> int:
        """Reap a child of this process, add its use, return its wait status."""
        _, status, usage = os.wait4(pid, 0)
        self._waited_for = _add(self._waited_for, counts_of(usage))
        self.peak_process_bytes = max(self.peak_process_bytes, usage.ru_maxrss * 1024)
        self._raise_to(self._waited_for)
        return status

    def read(self, processes: Iterable[Stat]) -> Counts:
        """Return the counts of the run so far; `processes` are oldest first."""
        with_children = dict(self._waited_for)
        for stat in processes:
            with_children["cpu_s"] += stat.cpu_s + stat.reaped_cpu_s
            with_children["minor_faults"] += stat.minor_faults + stat.reaped_minor_faults
            with_children["major_faults"] += stat.major_faults + stat.reaped_major_faults
            for key, value in _storage_bytes(stat.pid).items():
                with_children[key] += value
            for thread, switches in _switches_by_thread(stat.pid).items():
                self._switches[thread, stat.start_ticks] = switches
        self._raise_to(with_children)
        self.watch(processes)
        last = self._last.values()
        self._raise_to(
            {
                "cpu_s": sum(stat.cpu_s for stat in last),
                "minor_faults": sum(stat.minor_faults for stat in last),
                "major_faults": sum(stat.major_faults for stat in last),
                **{
                    key: sum(switches[key] for switches in self._switches.values())
                    for key in _SWITCHES.values()
                },
            }
        )
        return dict(self._counts)

    def _raise_to(self, lower_bound: Counts) -> None:
        for key, value in lower_bound.items():
            self._counts[key] = max(self._counts[key], value)


def _add(left: Counts, right: Counts) -> Counts:
    return {key: left[key] + right[key] for key in OS_COUNTERS}


def _storage_bytes(pid: int) -> Counts:
    """Return the storage bytes read and written by a process and its reaped children."""
    fields = _fields(Path(f"/proc/{pid}/io"))
    return {key: float(fields.get(key, 0)) for key in ("read_bytes", "write_bytes")}


def _switches_by_thread(pid: int) -> dict[int, Counts]:
    try:
        threads = [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return {}
    switches = {}
    for thread in threads:
        fields = _fields(Path(f"/proc/{pid}/task/{thread}/status"))
        if fields:
            switches[int(thread)] = {ours: float(fields[key]) for key, ours in _SWITCHES.items()}
    return switches


def _fields(path: Path) -> dict[str, str]:
    """Return the `key: value` lines of a /proc file; nothing if its process is gone."""
    try:
        text = path.read_text(errors="replace")
    except OSError:  # ended, or changed its user by a setuid exec
        return {}
    return {key: value.strip() for key, _, value in (li.partition(":") for li in text.splitlines())}
