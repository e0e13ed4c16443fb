"""The costs of runs on the machine: CPU time, memory, network and energy of all Spark processes."""

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trimtab.processes.run_processes import RunProcesses
from trimtab.processes.stat import Stat
from trimtab.profiling.meters.base import EnergySource
from trimtab.profiling.meters.energy import RunEnergy
from trimtab.profiling.meters.machine import MachineMeters
from trimtab.profiling.meters.memory import ResidentMemory

_MARK = "TRIMTAB_CHARACTERIZATION"


@contextmanager
def marked_processes() -> Iterator[RunProcesses]:
    """Yield the processes started within the block: cluster, driver and workers."""
    value = uuid.uuid4().hex
    processes = RunProcesses(f"{_MARK}={value}")
    os.environ[_MARK] = value
    try:
        yield processes
    finally:
        del os.environ[_MARK]


class CpuTime:
    """The CPU time of processes, over all runs of a session.

    /proc gives two lower bounds, of which the higher counts: the sum over live processes with their
    reaped children, and the sum over all processes ever seen. `OsCounters` knows more, but reads
    every Java thread.
    """

    def __init__(self) -> None:
        self._last_s: dict[tuple[int, int], float] = {}
        self._highest_s = 0.0

    def read_s(self, living: Sequence[Stat]) -> float:
        """Return the seconds so far."""
        self._last_s |= {(stat.pid, stat.start_ticks): stat.cpu_s for stat in living}
        with_children_s = sum(stat.cpu_s + stat.reaped_cpu_s for stat in living)
        self._highest_s = max(self._highest_s, with_children_s, sum(self._last_s.values()))
        return self._highest_s


class RunMeter:
    """The meters of one run, from creation on; `cpu_time` continues over all runs of a session."""

    def __init__(self, processes: RunProcesses, cpu_time: CpuTime, meters: MachineMeters) -> None:
        self._processes, self._cpu_time = processes, cpu_time
        self._memory = ResidentMemory()
        self._energy = RunEnergy(meters)
        self._began_s = self._sampled_s = time.perf_counter()
        self._own_cpu_s = time.process_time()
        self._resident_byte_s = 0.0
        self._cpu_before_s = cpu_time.read_s(processes.living())
        self._first = self._energy.read(wall_s=0.0, cpu_s=0.0, resident_byte_s=0.0)
        self._last, self._cpu_s = self._first, 0.0

    def sample(self) -> None:
        """Read all meters."""
        living = self._processes.living()
        held_bytes = self._memory.read(living)
        self._cpu_s = self._cpu_time.read_s(living) - self._cpu_before_s
        now_s = time.perf_counter()
        self._resident_byte_s += held_bytes * (now_s - self._sampled_s)
        self._sampled_s = now_s
        self._last = self._energy.read(
            wall_s=now_s - self._began_s,
            cpu_s=self._cpu_s,
            resident_byte_s=self._resident_byte_s,
        )

    def finish(self) -> dict[str, Any]:
        """Return a run's columns of the machine.

        `own_s` is the CPU time of this process meanwhile.
        """
        wall_s = time.perf_counter() - self._began_s
        self.sample()
        difference = {name: self._last[name] - self._first[name] for name in self._last}
        energy = self._energy.of_window(difference, wall_s)
        known = energy.energy_source != EnergySource.UNKNOWN
        return {
            "cpu_s": self._cpu_s,
            "peak_rss_bytes": self._memory.peak_bytes,
            "energy_j": energy.energy_j if known else None,
            "energy_source": str(energy.energy_source),
            "wall_s": wall_s,
            "own_s": time.process_time() - self._own_cpu_s,
        }
