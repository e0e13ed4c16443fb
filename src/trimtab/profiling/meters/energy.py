"""The energy of a run, from the machine's best meters, with an uncertainty interval.

The processors' and memory modules' part comes from RAPL (`rapl.py`) where it can be read, else from
the power model (`modelled.py`); the GPUs' part from NVML (`nvml.py`) where there are GPUs; and
other parts from further modules here. A sum is `measured` only if every part of it is.
`energy_method` names the parts, as in "rapl package+dram, nvml" or "power model".

Energy is attributed for each interval between two samples and added up, so the epochs' joules add
up to the run's. The interval (low, high) adds the parts' own:

- power model: the relative error from the hardware description;
- RAPL: from the run's active part alone to the machine's whole energy;
- NVML: +-5 %, and for each window that is reported (an epoch, the run) the energy of one update
  period of the counter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.profiling.meters.base import EnergySource
from trimtab.profiling.meters.machine import MachineMeters, MeterReadings


@dataclass(frozen=True)
class Energy:
    """Joules, the ends of their interval, and the method; `unknown` ones are NaN."""

    energy_j: float
    energy_low_j: float
    energy_high_j: float
    energy_source: EnergySource
    energy_method: str


class RunEnergy:
    """Adds up the energy of one run from its start; call `read` at every sample."""

    def __init__(self, meters: MachineMeters) -> None:
        self._meters = meters
        self._low_j = self._energy_j = self._high_j = 0.0
        self._wall_s = self._cpu_s = self._resident_byte_s = 0.0
        self._before = meters.read()
        self._stopped: MeterReadings | None = None

    def read(self, *, wall_s: float, cpu_s: float, resident_byte_s: float) -> dict[str, float]:
        """Return the joules from the run's start to now: `energy_j`, its ends, each meter's count.

        The arguments also count from the run's start: seconds, CPU seconds, and the integral of the
        resident memory in bytes times seconds.
        """
        now = self._stopped or self._meters.read()
        share = self._meters.share(
            self._before,
            now,
            wall_s=wall_s - self._wall_s,
            cpu_s=cpu_s - self._cpu_s,
            resident_byte_s=resident_byte_s - self._resident_byte_s,
        )
        self._before = now
        self._wall_s, self._cpu_s, self._resident_byte_s = wall_s, cpu_s, resident_byte_s
        self._energy_j += share.energy_j
        self._low_j += share.low_j
        self._high_j += share.high_j
        return {
            "energy_j": self._energy_j,
            "energy_low_j": self._low_j,
            "energy_high_j": self._high_j,
            **self._meters.counted_j(now),
        }

    def stop(self) -> None:
        """Read the meters for the last time: later calls of `read` add no counted energy."""
        self._stopped = self._meters.read()

    def of_window(self, difference: Mapping[str, float], duration_s: float) -> Energy:
        """Return the energy of a part of the run, from the difference of two `read`s."""
        edge_j = self._meters.edge_j(difference, duration_s)
        return Energy(
            difference["energy_j"],
            max(0.0, difference["energy_low_j"] - edge_j),
            difference["energy_high_j"] + edge_j,
            self._meters.source,
            self._meters.method,
        )
