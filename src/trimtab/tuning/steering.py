"""What a trial runs under in each of its epochs, and who decides it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trimtab.records.tuning.ground_truth import Setting
from trimtab.tuning.space import Configuration

Settings = Mapping[str, Setting]  # of the `system` parameters, by their own names


@dataclass(frozen=True)
class MeasuredEpoch:
    """An epoch under some settings: `cost` is what the objective has less of where it is better.

    `work_epochs` is its training in epochs over the whole data, by which the cost is divided, and
    `rates` are its counters per second of the processor.
    """

    cost: float
    rates: Mapping[str, float]
    work_epochs: float = 1.0


class Steering(Protocol):
    """Decides the settings of one trial's epochs: `settings` are asked for before each one."""

    @property
    def settings(self) -> Settings:
        """What the next epoch runs under."""

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Take in what the epoch under `settings` gave."""


@dataclass(frozen=True)
class Fixed:
    """The same settings for all epochs: those of the trial's configuration."""

    settings: Settings

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        """Nothing changes."""


Steerer = Callable[[Configuration], Steering]  # for a trial with all its parameters
