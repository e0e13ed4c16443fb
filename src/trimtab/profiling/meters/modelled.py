"""The power model as a meter, for processors whose energy cannot be read."""

from math import nan
from typing import Self

from trimtab.profiling.meters.base import EnergyDomain, EnergySource, IntervalUse, Meter, Share
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.power_model import HardwareModel, modelled_energy_j


class PowerModel(Meter):
    """Processors and memory by the model of `hardware`; NaN joules if it has no figures."""

    name = "power_model"
    parts = frozenset({EnergyDomain.PROCESSORS, EnergyDomain.MEMORY})

    def __init__(self, hardware: HardwareModel) -> None:
        self._hardware = hardware
        self.source = EnergySource.MODELLED if hardware.known else EnergySource.UNKNOWN
        self.method = "power model" if hardware.known else "no power model"
        self.detail = f"power of {hardware.name}"

    @classmethod
    def find(cls, hardware: HardwareModel, gpus: Gpus | None) -> Self | None:
        """Return the model of `hardware`; it always exists, possibly without figures."""
        return cls(hardware)

    def read_j(self) -> float:
        """Return 0: nothing is counted."""
        return 0.0

    def share(self, counted_j: float, use: IntervalUse) -> Share:
        """Return the model's joules, with the relative error from the hardware description."""
        if not self._hardware.known:
            return Share(nan, nan, nan, nan)
        energy_j = self._energy_j(use, use.wall_s)
        error_j = energy_j * self._hardware.power_relative_error
        return Share(energy_j, energy_j - error_j, energy_j + error_j, self._energy_j(use, 0.0))

    def _energy_j(self, use: IntervalUse, wall_s: float) -> float:
        return modelled_energy_j(
            self._hardware,
            wall_s=wall_s,
            cpu_s=use.cpu_s,
            resident_byte_s=use.resident_byte_s,
            cores_usable=use.cores_usable,
        )
