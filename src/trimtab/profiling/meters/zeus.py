"""A cross-check of a run's energy by zeus (https://ml.energy/zeus), if it is installed.

Zeus reads the same NVML and RAPL counters for the whole machine and attributes no part to the run;
so its joules bound the measured `energy_high_j`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from trimtab.errors import UserError
from trimtab.installation import how_to_add

Result = TypeVar("Result")


@dataclass(frozen=True)
class ZeusEnergy:
    """Zeus's measurement of the whole machine in a window; None without such a meter."""

    duration_s: float
    gpu_j: float | None
    cpu_j: float | None
    dram_j: float | None


def cross_check(action: Callable[[], Result]) -> tuple[Result, ZeusEnergy]:
    """Call `action` in a zeus window; return its result and zeus's measurement.

    Raises UserError if zeus is not installed.
    """
    try:
        from zeus.monitor import ZeusMonitor
    except ImportError:
        raise UserError(
            f"zeus is not installed, which the cross-check needs: {how_to_add('zeus')}"
        ) from None
    monitor = ZeusMonitor()
    monitor.begin_window("run", sync_execution=False)  # we run nothing on a GPU
    result = action()
    window = monitor.end_window("run", sync_execution=False)
    return result, ZeusEnergy(
        window.time, _sum(window.gpu_energy), _sum(window.cpu_energy), _sum(window.dram_energy)
    )


def _sum(joules: dict[int, float] | None) -> float | None:
    return sum(joules.values()) if joules else None
