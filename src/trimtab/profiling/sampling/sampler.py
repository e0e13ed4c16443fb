"""Sample all meters of a run, on one time axis."""

import itertools
from collections.abc import Mapping, Sequence

import pandas as pd

from trimtab.processes.run_processes import RunProcesses
from trimtab.processes.stat import Stat
from trimtab.profiling.meters.energy import Energy, RunEnergy
from trimtab.profiling.meters.gpus import GpuMeter, Gpus
from trimtab.profiling.meters.hardware_counters import HARDWARE_EVENTS, HardwareCounters
from trimtab.profiling.meters.machine import machine_meters
from trimtab.profiling.meters.memory import ResidentMemory
from trimtab.profiling.meters.os_counters import OS_COUNTERS, Counts, OsCounters
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.sampling.timeline import Timeline

_WHOLE = [name for name in OS_COUNTERS if name != "cpu_s"]


class Sampler:
    """The meters of one run; made before it starts. All times are seconds since its start.

    `watch` is cheap and only samples memory; `sample` reads every meter; `finish` takes the
    kernel's exact sums at the end.
    """

    def __init__(self, hardware: HardwareModel, gpus: Gpus, counters: HardwareCounters) -> None:
        self.processes = RunProcesses()
        self.gpu_use = GpuMeter(gpus)
        self.energy = RunEnergy(machine_meters(hardware, gpus))
        self._counters = counters
        self._timeline = Timeline()
        self._resident_byte_s = 0.0
        self._watched_s = 0.0

    def start(self, leader: int) -> None:
        """Attach to the run's newly started first process."""
        self._leader = self.processes.leader = leader
        self._os = OsCounters(leader)
        self.memory = ResidentMemory()
        self._add(0.0, dict.fromkeys(OS_COUNTERS, 0), 0, None)

    def watch(self, time_s: float) -> None:
        """Sample the run's memory and remember its processes' last values."""
        processes = self.processes.living()
        self._look_at_memory(processes, time_s)
        self._os.watch(processes)

    def sample(self, time_s: float) -> None:
        """Read every meter."""
        processes = self.processes.living()
        gpu_memory = self._look_at_memory(processes, time_s)
        resident = self.memory.read(processes)
        self._add(time_s, self._os.read(processes), resident, gpu_memory)

    def end(self) -> None:
        """Read the energy meters, as the run's first process has ended."""
        self.energy.stop()
        self.gpu_use.end()

    def finish(self, time_s: float) -> int:
        """Reap the run's processes, all ended, and take their sums; return the wait status."""
        self._os.watch(self.processes.living())
        status = self._os.wait_for(self._leader)
        self.memory.close(self._os.peak_process_bytes)
        self._add(time_s, self._os.read([]), 0, None)
        return status

    def frame(self) -> pd.DataFrame:
        """Return one row a sample: `time_s`, the running totals, and the memory held then."""
        return self._timeline.frame()

    def over(self, boundaries_s: Sequence[float]) -> list[tuple[dict[str, float], Energy]]:
        """Return the counters and the energy of each window between neighbouring boundaries.

        The counters are those of the epochs' table; NaN if the machine does not count them.
        """
        windows = []
        for (start, end), total in zip(
            itertools.pairwise(boundaries_s),
            self._timeline.over(boundaries_s, _WHOLE),
            strict=True,
        ):
            names = [*OS_COUNTERS, *(event.name for event in HARDWARE_EVENTS)]
            counts = {name: total[name] for name in names}
            counts["counters_running_share"] = _share(total)
            windows.append((counts, self.energy.of_window(total, end - start)))
        return windows

    def _look_at_memory(self, processes: Sequence[Stat], time_s: float) -> int | None:
        held = self.memory.watch(processes)
        self._resident_byte_s += held * (time_s - self._watched_s)
        self._watched_s = time_s
        return self.gpu_use.look({stat.pid for stat in processes}, time_s)

    def _add(self, time_s: float, counts: Counts, resident: int, gpu_memory: int | None) -> None:
        joules = self.energy.read(
            wall_s=time_s, cpu_s=counts["cpu_s"], resident_byte_s=self._resident_byte_s
        )
        self._timeline.add(
            time_s,
            {**counts, **self._counters.read(), **joules},
            {"resident_bytes": resident, "gpu_memory_bytes": gpu_memory},
        )


def _share(total: Mapping[str, float]) -> float:
    """Return time running / time enabled; NaN if nothing was counted."""
    return total["running_ns"] / total["enabled_ns"] if total["enabled_ns"] > 0 else float("nan")
