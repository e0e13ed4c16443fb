"""What a trial runs under in each of its epochs, and who decides it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trimtab.records.tuning.ground_truth import Setting
from trimtab.tuning.space import Configuration
from trimtab.tuning.system.pool import ResourceDemand

Settings = Mapping[str, Setting]  # of the `system` parameters, by their own names


@dataclass(frozen=True)
class MeasuredEpoch:
    """What an epoch took: seconds, and joules or None where they are unknown.

    `rates` are its counters per second of the processor, whose time was `cpu_s`. `is_first`: of a
    program that has just started, so that it holds what is done once, as loading code.
    `work_epochs` is its training in epochs over the whole data. `not_set` are settings that were
    asked for and are not in effect.
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
    """What is around a trial before an epoch.

    `waiting` trials could run now, those that do and this one included. `room` is what the trial
    may have, of what the `machine` has. `starts`: its program is still to be started.
    """

    waiting: int
    room: ResourceDemand
    machine: ResourceDemand
    starts: bool = False


class SystemTuner(Protocol):
    """Decides the settings of one trial's epochs."""

    @property
    def report(self) -> Mapping[str, int]:
        """What it did so far, as columns of trials' results: `epochs_probed`, `known`."""

    def settings_for(self, outlook: ResourceView) -> Settings:
        """Return what the next epoch runs under; what does not fit in the room has to wait.

        That is only where the program is still to be started.
        """

    def best(self, machine: ResourceDemand) -> Settings:
        """Return what a trial that is alone on the machine is to run under, by what is known."""

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Take in what the epoch under the settings took."""

    def ran_out_of_memory(self) -> bool:
        """Return whether the trial is to go on, from its checkpoint, with other settings."""

    def ended(self) -> None:
        """Hear that the trial's program has ended, in the middle of an epoch or behind one."""


@dataclass(frozen=True)
class FixedSettings:
    """The same settings for all epochs: those of the trial's configuration."""

    settings: Settings

    @property
    def report(self) -> Mapping[str, int]:
        """Nothing is probed."""
        return {"epochs_probed": 0, "known": 0}

    def settings_for(self, outlook: ResourceView) -> Settings:
        """Return the settings, whatever is around."""
        return self.settings

    def best(self, machine: ResourceDemand) -> Settings:
        """Return the settings."""
        return self.settings

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Nothing changes."""

    def ran_out_of_memory(self) -> bool:
        """Return that it is not."""
        return False

    def ended(self) -> None:
        """Nothing was begun."""


SystemTunerFactory = Callable[[Configuration], SystemTuner]  # for a trial with all its parameters
