"""The energy of a run, by the best means its machine has, each joule with an interval.

The processors' and memory modules' part comes from RAPL (`rapl.py`) where it can be read, else
from the power model (`power_model.py`); the GPUs' part from NVML (`nvml.py`) where there are
GPUs. A sum is `measured` only if every part of it is. `energy_method` names the parts, as in
"rapl package+dram, nvml" or "power model".

Energy is attributed interval by interval between two samples and added up, so that the epochs'
joules add up to the run's. The interval (low, high) adds the parts' own:

- power model: the relative error that the hardware description states;
- RAPL: from the run's active part alone to all that the machine used;
- NVML: +-5 %, and for each window that is reported (an epoch, the run) the energy of one update
  period of the counter.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

from trimtab.profiling.meters import nvml, rapl
from trimtab.profiling.meters.power_model import HardwareModel, modelled_energy_j


@dataclass(frozen=True)
class Energy:
    """Joules and the ends of their interval, how they were got: `unknown` ones are NaN."""

    energy_j: float
    energy_low_j: float
    energy_high_j: float
    energy_source: str
    energy_method: str


class EnergyMeter:
    """Adds up the energy of one run from its start; `read` at every sample."""

    def __init__(
        self, hardware: HardwareModel, gpus: nvml.Gpus, processors: rapl.Rapl | None = None
    ) -> None:
        self._hardware, self._gpus = hardware, gpus
        self._rapl = rapl.Rapl() if processors is None else processors
        self._cores_usable = len(os.sched_getaffinity(0))
        self._low_j = self._energy_j = self._high_j = 0.0
        self._gpu_start_j = gpus.energy_j() if gpus.metered else 0.0
        self._stopped: dict[str, float] | None = None
        self._before = self._meters(0.0, 0.0, 0.0)
        domains = sorted({name.split("-")[0] for name in self._rapl.domains}, reverse=True)
        parts = [f"rapl {'+'.join(domains)}" if domains else "power model"]
        if len(gpus):
            parts.append("nvml" if gpus.metered else "GPU not metered")
        self.source = "measured" if domains and gpus.metered == bool(len(gpus)) else "modelled"
        if not domains and not hardware.known:
            parts[0], self.source = "no power model", "unknown"
        self.method = ", ".join(parts)

    def read(self, *, wall_s: float, cpu_s: float, resident_byte_s: float) -> dict[str, float]:
        """Return the joules from the run's start to now: `energy_j`, its ends, `gpu_j` in it.

        The arguments count from the run's start too: seconds, CPU seconds, and the integral of
        the resident memory in bytes times seconds.
        """
        now = self._meters(wall_s, cpu_s, resident_byte_s)
        step = {key: now[key] - self._before[key] for key in now}
        self._before = now
        part = self._processors(step)
        gpu_j = step["gpu_j"]
        self._energy_j += part.energy_j + gpu_j
        self._low_j += part.low_j + gpu_j * (1 - nvml.POWER_RELATIVE_ERROR)
        self._high_j += part.high_j + gpu_j * (1 + nvml.POWER_RELATIVE_ERROR)
        return {
            "energy_j": self._energy_j,
            "energy_low_j": self._low_j,
            "energy_high_j": self._high_j,
            "gpu_j": now["gpu_j"],
        }

    def stop(self) -> None:
        """Read the meters for the last time: a later `read` adds nothing that they count."""
        self._stopped = self._read_meters()

    def of_window(self, difference: Mapping[str, float], duration_s: float) -> Energy:
        """Return the energy of a part of the run, from the difference of two `read`s."""
        gpu_w = difference["gpu_j"] / duration_s if duration_s > 0 else 0.0
        edge_j = gpu_w * nvml.UPDATE_PERIOD_S
        return Energy(
            difference["energy_j"],
            max(0.0, difference["energy_low_j"] - edge_j),
            difference["energy_high_j"] + edge_j,
            self.source,
            self.method,
        )

    def _meters(self, wall_s: float, cpu_s: float, resident_byte_s: float) -> dict[str, float]:
        return {
            "wall_s": wall_s,
            "cpu_s": cpu_s,
            "resident_byte_s": resident_byte_s,
            **(self._stopped or self._read_meters()),
        }

    def _read_meters(self) -> dict[str, float]:
        return {
            "gpu_j": self._gpus.energy_j() - self._gpu_start_j if self._gpus.metered else 0.0,
            "rapl_j": self._rapl.read_j(),
            "machine_busy_s": rapl.machine_busy_s(),
        }

    def _processors(self, step: Mapping[str, float]) -> rapl.Share:
        if self._rapl.domains:
            return rapl.attribute(
                step["rapl_j"],
                self._hardware,
                wall_s=step["wall_s"],
                cpu_s=step["cpu_s"],
                machine_busy_s=step["machine_busy_s"],
                cores_usable=self._cores_usable,
            )
        if not self._hardware.known:
            return rapl.Share(nan, nan, nan)
        energy_j = modelled_energy_j(
            self._hardware,
            wall_s=step["wall_s"],
            cpu_s=step["cpu_s"],
            resident_byte_s=step["resident_byte_s"],
            cores_usable=self._cores_usable,
        )
        error_j = energy_j * self._hardware.power_relative_error
        return rapl.Share(energy_j, energy_j - error_j, energy_j + error_j)
