"""Energy of NVIDIA GPUs, from NVML's counters.

NVIDIA documents +-5 % for the power reading behind them (NVML API reference,
nvmlDeviceGetPowerUsage); a counter moves in steps, every 100 ms on an H200. An independent study
(Yang, Adamek, Armour: "Accurate and Convenient Energy Measurements for GPUs", SC24,
arXiv:2312.02741) confirms that the error is proportional. It finds GPUs whose sensor measures only
a quarter of the time: programs much shorter than a second are not measured well.

A board's counter knows no processes: a run is charged all energy of the boards that it may use.
Boards without a counter are charged nothing, and a sum without them is not `measured`.
"""

from typing import Self

from trimtab.profiling.meters.base import EnergyDomain, EnergySource, IntervalUse, Meter, Share
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.power_model import HardwareModel

_RELATIVE_ERROR = 0.05


class Nvml(Meter):
    """The energy of all boards that a program may use."""

    name = "nvml"
    parts = frozenset({EnergyDomain.GPUS})
    update_period_s = 0.1

    def __init__(self, gpus: Gpus) -> None:
        self._gpus = gpus
        self.source = EnergySource.MEASURED if gpus.metered else EnergySource.MODELLED
        self.method = self.detail = "nvml" if gpus.metered else "GPU not metered"
        self._start_j = gpus.energy_j() if gpus.metered else 0.0

    @classmethod
    def find(cls, hardware: HardwareModel, gpus: Gpus | None) -> Self | None:
        """Return the meter of `gpus` if there are any."""
        return cls(gpus) if gpus else None

    def read_j(self) -> float:
        """Return the joules of all boards since this object was made."""
        return self._gpus.energy_j() - self._start_j if self._gpus.metered else 0.0

    def share(self, counted_j: float, use: IntervalUse) -> Share:
        """Return all counted energy: a board's idle power is unknown."""
        return Share(
            counted_j,
            counted_j * (1 - _RELATIVE_ERROR),
            counted_j * (1 + _RELATIVE_ERROR),
            counted_j,
        )
