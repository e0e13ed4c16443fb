"""The active energy of processes that end: measured where it can be, else modelled.

Active is what the work adds to an idle machine. With RAPL it is the counted energy above the idle
power, shared out by CPU seconds; else the model's (P_busy - P_idle) / cores for each CPU second,
which knows no frequencies. Both are `trimtab.profiling`'s.
"""

from dataclasses import dataclass
from math import nan

from trimtab.profiling.meters import rapl
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel, modelled_energy_j


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """The meters at one moment; `time_s` on the caller's clock."""

    time_s: float
    counted_j: float
    machine_busy_s: float


class ActiveEnergyMeter:
    """Joules of processes between two moments. `method` says how: RAPL's domains or the model."""

    READ_AT_LEAST_EVERY_S = 60.0  # or a RAPL counter may wrap around twice

    def __init__(
        self, hardware: HardwareModel = NO_POWER_MODEL, processors: rapl.Rapl | None = None
    ) -> None:
        self._hardware = hardware
        self._rapl = rapl.Rapl() if processors is None else processors
        if self._rapl.domains:
            self.method = f"measured, rapl {'+'.join(sorted(set(self._rapl.domains)))}"
        elif hardware.known:
            self.method = f"modelled, power of {hardware.name}"
        else:
            self.method = "unknown"

    def read(self, time_s: float) -> EnergyReading:
        """Read the meters."""
        busy_s = rapl.machine_busy_s() if self._rapl.domains else 0.0
        return EnergyReading(time_s, self._rapl.read_j(), busy_s)

    def since(self, start: EnergyReading, now_s: float, cpu_s: float) -> float:
        """Return the active joules of processes that used `cpu_s` since `start`; NaN: unknown."""
        if not self._rapl.domains:
            if not self._hardware.known:
                return nan
            return modelled_energy_j(
                self._hardware, wall_s=0.0, cpu_s=cpu_s, resident_byte_s=0.0, cores_usable=1
            )
        now = self.read(now_s)
        return rapl.attribute(
            now.counted_j - start.counted_j,
            self._hardware,
            wall_s=now.time_s - start.time_s,
            cpu_s=cpu_s,
            machine_busy_s=now.machine_busy_s - start.machine_busy_s,
            cores_usable=1,
        ).low_j  # the active part alone
