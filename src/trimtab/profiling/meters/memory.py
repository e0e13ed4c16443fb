"""The resident memory of a run, summed over its processes without counting pages twice.

Forked workers share most of their pages, so a sum of resident sizes (RSS) counts them once per
worker. The proportional size (PSS, proc_pid_smaps(5)) divides each page by the processes that map
it, and its sum over a run counts it once; but reading it walks the page table (9 ms a GiB). So:

- one process: its RSS;
- several: the sum of their PSS, at least the largest RSS. Pages of a file that a process outside
  the run maps too count in part; the largest RSS bounds that from below;
- PSS is read only where the sum of RSS, which is never less, exceeds the peak so far;
- the kernel's record of the highest RSS of each process (VmHWM) bounds the peak from below, so a
  peak between two samples is not missed.
"""

import resource
from collections.abc import Sequence
from pathlib import Path

from trimtab.processes.stat import Stat
from trimtab.profiling.meters.system_calls import shares_memory

_KIB = 1024


class ResidentMemory:
    """The resident memory of one run; `peak_bytes` is the highest seen so far.

    Make it after the first process has executed its program: the peak that the kernel reports at
    its end includes this process's own memory until then.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        # A child inherits its parent's peak at the fork and keeps it at exec (ru_maxrss). An
        # earlier reading may be lower, and our memory would count for the run.
        self._inherited_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB

    def watch(self, processes: Sequence[Stat]) -> int:
        """Raise the peak if the run holds more than before; cheap if it cannot.

        Return the bytes held now: exact for one process, otherwise at most the peak.
        """
        sizes = [_kib_fields(stat.pid, "status") for stat in processes]
        for size in sizes:
            self._raise_to(size.get("VmHWM", 0))
        most = sum(size.get("VmRSS", 0) for size in sizes)
        return most if most <= self.peak_bytes else self.read(processes)

    def read(self, processes: Sequence[Stat]) -> int:
        """Return the bytes the run holds now."""
        living = [stat for stat in processes if not stat.is_zombie]
        pids = {stat.pid for stat in living}
        # A vforked child uses its parent's memory until its exec.
        own = [
            stat.pid
            for stat in living
            if not (stat.parent in pids and shares_memory(stat.pid, stat.parent))
        ]
        resident = [_kib_fields(pid, "status").get("VmRSS", 0) for pid in own]
        held = max(resident, default=0)
        if len(own) > 1:
            held = max(held, sum(_proportional_bytes(pid) for pid in own))
        self._raise_to(held)
        return held

    def close(self, peak_process_bytes: int) -> None:
        """Include the highest RSS of any reaped process (ru_maxrss), if it is the process's own.

        It says nothing unless it is above this process's own peak, which children inherit.
        """
        if peak_process_bytes > self._inherited_bytes:
            self._raise_to(peak_process_bytes)

    def _raise_to(self, value: int) -> None:
        self.peak_bytes = max(self.peak_bytes, value)


def _proportional_bytes(pid: int) -> int:
    fields = _kib_fields(pid, "smaps_rollup")
    # PSS is not readable for a process that changed its user; its RSS is not less.
    return fields["Pss"] if "Pss" in fields else _kib_fields(pid, "status").get("VmRSS", 0)


def _kib_fields(pid: int, name: str) -> dict[str, int]:
    """Return the fields in KiB of a /proc file, in bytes; nothing if its process is gone."""
    try:
        text = Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return {}
    fields = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if value.endswith(" kB"):
            fields[key] = int(value[:-3]) * _KIB
    return fields
