"""The system settings of a trial's epochs, and the tuner that decides them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trimtab.records.tuning.ground_truth import Setting
from trimtab.tuning.space import Configuration
from trimtab.tuning.system.pool import ResourceDemand

Settings = Mapping[str, Setting]  # of the `system` parameters, by their own names


@dataclass(frozen=True)
class MeasuredEpoch:
    """The cost of an epoch: seconds, and joules, None where unknown.

    `rates` are its counters per CPU second, `cpu_s` its CPU time. `is_first`: it is the program's
    first epoch, with one-time work such as loading code. `work_epochs` is its training in epochs
    over the whole data. `not_set` are requested settings that are not in effect.
    """

    wall_s: float
    energy_j: float | None
    rates: Mapping[str, float]
    cpu_s: float
    is_first: bool = False
    work_epochs: float = 1.0
    not_set: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ResourceView:
    """The resources and load around a trial before an epoch.

    `waiting` trials could run now, this one and running ones included. `room` is the part of the
    `machine` that the trial may have. `starts`: its program has not started yet.
    """

    waiting: int
    room: ResourceDemand
    machine: ResourceDemand
    starts: bool = False


class SystemTuner(Protocol):
    """Decides the settings of one trial's epochs."""

    @property
    def report(self) -> Mapping[str, int]:
        """Its work so far, as columns of trials' results: `epochs_probed`, `known`."""

    def settings_for(self, outlook: ResourceView) -> Settings:
        """Return the next epoch's settings.

        They may exceed the room only before the program's start, which then waits.
        """

    def best(self, machine: ResourceDemand) -> Settings:
        """Return the best known settings for a single trial on the machine."""

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Record the cost of an epoch under the settings."""

    def ran_out_of_memory(self) -> bool:
        """Return whether the trial continues, from its checkpoint, with other settings."""

    def ended(self) -> None:
        """Notify that the trial's program has ended, within an epoch or after one."""


@dataclass(frozen=True)
class FixedSettings:
    """The same settings for all epochs: those of the trial's configuration."""

    settings: Settings

    @property
    def report(self) -> Mapping[str, int]:
        """Empty: nothing is probed."""
        return {"epochs_probed": 0, "known": 0}

    def settings_for(self, outlook: ResourceView) -> Settings:
        """Return the settings."""
        return self.settings

    def best(self, machine: ResourceDemand) -> Settings:
        """Return the settings."""
        return self.settings

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Do nothing."""

    def ran_out_of_memory(self) -> bool:
        """Return False: the trial fails."""
        return False

    def ended(self) -> None:
        """Do nothing."""


SystemTunerFactory = Callable[[Configuration], SystemTuner]  # for a trial with all its parameters
