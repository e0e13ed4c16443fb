"""What speeds the running job up for a while."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from trimtab.processes.control_groups import HasProcesses


class Sprinter(ABC):
    """Speeds one job at a time up. As a context manager it rests at the start, and at the end
    leaves the machine as it found it.

    `normal_milli` and `sprint_milli` are the thousandths of cores that the job has.
    """

    description: str
    normal_milli: int
    sprint_milli: int

    def wrap(self, command: Sequence[str]) -> Sequence[str]:
        """Return the command that starts `command` where this sprinter has a hold on it."""
        return command

    def attach(self, job: HasProcesses) -> None:
        """Take a job that runs, from `wrap`'s command or not."""
        return None

    @abstractmethod
    def sprint(self) -> None:
        """Speed the job up."""

    @abstractmethod
    def rest(self) -> None:
        """Go back to the normal speed."""

    def restore(self) -> None:
        """Leave the machine as it was found."""
        return None

    def __enter__(self) -> Self:
        try:
            self.rest()
        except BaseException:
            self.restore()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()


class NoSprinter(Sprinter):
    """Leaves every job at its speed: for policies that sprint none."""

    description = "none"

    def __init__(self) -> None:
        self.normal_milli = self.sprint_milli = 1000 * len(os.sched_getaffinity(0))

    def sprint(self) -> None:
        """Do nothing."""

    def rest(self) -> None:
        """Do nothing."""
