"""The active energy of processes that end, such as the jobs of a real schedule.

Active energy is the energy that work adds to an idle machine. With RAPL it is the counted energy
above the idle power, divided by CPU seconds. Otherwise it is the model's (P_busy - P_idle) / cores
for each CPU second, without frequencies. GPUs are left out.
"""

from dataclasses import dataclass

from trimtab.profiling.meters.base import EnergySource
from trimtab.profiling.meters.machine import MeterReadings, machine_meters
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """The counts of the meters at one moment; `time_s` is on the caller's clock."""

    time_s: float
    readings: MeterReadings


class ActiveEnergyMeter:
    """Measures the joules of processes between two moments; `method` names RAPL's domains or the
    model.
    """

    READ_AT_LEAST_EVERY_S = 60.0  # otherwise a RAPL counter may wrap around twice

    def __init__(self, hardware: HardwareModel = NO_POWER_MODEL) -> None:
        self._meters = machine_meters(hardware)
        source = self._meters.source
        unknown = source is EnergySource.UNKNOWN
        self.method = str(source) if unknown else f"{source}, {self._meters.detail}"

    def read(self, time_s: float) -> EnergyReading:
        """Read the meters."""
        return EnergyReading(time_s, self._meters.read())

    def since(self, start: EnergyReading, now_s: float, cpu_s: float) -> float:
        """Return the active joules of processes that used `cpu_s` since `start`; NaN if unknown."""
        wall_s = now_s - start.time_s
        share = self._meters.share(
            start.readings, self._meters.read(), wall_s=wall_s, cpu_s=cpu_s, resident_byte_s=0.0
        )
        return share.active_j
