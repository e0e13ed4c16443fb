"""The interface of energy meters: what they cover, their count, and a run's share.

A meter is a class in a module of this package. `machine.py` discovers a machine's meters, so a
meter for another board only needs a new module.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.power_model import HardwareModel


class EnergySource(StrEnum):
    """The sources of joules, best first."""

    MEASURED = "measured"
    MODELLED = "modelled"
    UNKNOWN = "unknown"


class EnergyDomain(StrEnum):
    """A part of a machine that consumes energy."""

    PROCESSORS = "processors"
    MEMORY = "memory"
    GPUS = "gpus"


@dataclass(frozen=True, slots=True)
class IntervalUse:
    """A run's use of its machine in an interval, which decides its share of the energy.

    `cpu_s` are the run's CPU seconds, `machine_busy_s` the CPU seconds of the whole machine.
    `resident_byte_s` is the integral of the run's memory, in bytes times seconds.
    """

    wall_s: float
    cpu_s: float
    resident_byte_s: float
    machine_busy_s: float
    cores_usable: float


@dataclass(frozen=True, slots=True)
class Share:
    """A run's part of the energy of an interval, in joules, with its uncertainty interval.

    `active_j` is the energy that the run adds to an idle machine.
    """

    energy_j: float
    low_j: float
    high_j: float
    active_j: float


class Meter(ABC):
    """The energy of some parts of a machine, counted or modelled.

    `method` is its name in `energy_method`; `detail` names the exact counters. A counter that moves
    in steps has an `update_period_s`: at the edges of a window, the energy of one step may belong
    to either side.
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
        """Return the meter of this machine, or None if it has none.

        `hardware` describes the machine; `gpus` are the GPUs that a program may use, None to leave
        GPUs out.
        """

    @abstractmethod
    def read_j(self) -> float:
        """Return the joules counted since this object was made; 0 for a model."""

    @abstractmethod
    def share(self, counted_j: float, use: IntervalUse) -> Share:
        """Return a run's share of the energy of an interval in which `counted_j` were counted."""
