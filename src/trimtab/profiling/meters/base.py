"""What every meter of energy is: it says what it covers, counts, and gives a run its share.

A meter is a class in a module of this package. A machine's meters are found by their classes
(`machine.py`), so that one for another board joins by being there.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.power_model import HardwareModel


class EnergySource(StrEnum):
    """Where joules come from, best first."""

    MEASURED = "measured"
    MODELLED = "modelled"
    UNKNOWN = "unknown"


class EnergyDomain(StrEnum):
    """A part of a machine that takes energy."""

    PROCESSORS = "processors"
    MEMORY = "memory"
    GPUS = "gpus"


@dataclass(frozen=True, slots=True)
class IntervalUse:
    """What a run used of its machine in an interval, from which its share of the energy is told.

    `cpu_s` are the run's CPU seconds, `machine_busy_s` those of everything on the machine.
    `resident_byte_s` is the integral of the run's memory, in bytes times seconds.
    """

    wall_s: float
    cpu_s: float
    resident_byte_s: float
    machine_busy_s: float
    cores_usable: float


@dataclass(frozen=True, slots=True)
class Share:
    """A run's part of the energy of an interval, in joules, with the ends of its interval.

    `active_j` is what the run adds to an idle machine.
    """

    energy_j: float
    low_j: float
    high_j: float
    active_j: float


class Meter(ABC):
    """The energy of some parts of a machine, counted or modelled.

    `method` is how `energy_method` names it; `detail` says what exactly is read. A counter that
    moves in steps has an `update_period_s`: at the edges of a window, the energy of one step may
    belong to either side.
    """

    name: str
    parts: frozenset[EnergyDomain]
    source: EnergySource
    method: str
    detail: str
    update_period_s: float = 0.0

    @classmethod
    @abstractmethod
    def find(cls, hardware: HardwareModel, gpus: Gpus | None) -> Self | None:
        """Return the meter of this machine, or None where it has none.

        `hardware` describes the machine; `gpus` are those a program may use, None where GPUs
        are not looked at.
        """

    @abstractmethod
    def read_j(self) -> float:
        """Return the joules counted since this object was made; a model counts none."""

    @abstractmethod
    def share(self, counted_j: float, use: IntervalUse) -> Share:
        """Return a run's share of the energy of an interval in which `counted_j` were counted."""
