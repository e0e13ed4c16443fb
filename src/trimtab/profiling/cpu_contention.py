"""Contention: how much the processors worked for others while runs were measured."""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trimtab.profiling.meters.machine import parse_busy_s
from trimtab.records.verdict import MachineLoad

_STOLEN = 8  # column of the first line of /proc/stat, after the word `cpu`
_WAITED = re.compile(r"^some .*\btotal=(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The machine at one moment: seconds of all its processors together, since it started.

    `own_s` is the processor time of this process and of its reaped children. `waited_s` is the time
    in which any process waited for a processor (pressure stall information).
    """

    clock_s: float
    busy_s: float
    stolen_s: float
    own_s: float
    waited_s: float

    @classmethod
    def now(cls) -> Self:
        """Read the counters now."""
        stat = Path("/proc/stat").read_text()
        times = os.times()
        own_s = times.user + times.system + times.children_user + times.children_system
        return cls(time.monotonic(), parse_busy_s(stat), stolen_s(stat), own_s, _waited_s())

    def load_until(self, later: Self) -> MachineLoad:
        """Return the load by others between two moments."""
        wall_s = max(later.clock_s - self.clock_s, 1e-9)
        all_s = wall_s * (os.cpu_count() or 1)
        own_s = later.own_s - self.own_s
        return MachineLoad(
            others_share=_share(later.busy_s - self.busy_s - own_s, all_s),
            stolen_share=_share(later.stolen_s - self.stolen_s, all_s),
            waited_share=_share(later.waited_s - self.waited_s, wall_s),
        )


def stolen_s(proc_stat: str) -> float:
    """Return the seconds that the host gave to other guests, from /proc/stat (proc_stat(5))."""
    words = proc_stat.split("\n")[0].split()
    return int(words[_STOLEN]) / os.sysconf("SC_CLK_TCK") if len(words) > _STOLEN else 0.0


def _waited_s() -> float:
    """Return the time of waiting for a processor; 0 without pressure stall information."""
    try:
        found = _WAITED.search(Path("/proc/pressure/cpu").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1e6 if found else 0.0


def _share(part_s: float, all_s: float) -> float:
    return min(max(part_s / all_s, 0.0), 1.0)
