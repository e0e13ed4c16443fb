"""The interface of sprinters, which speed up the running job temporarily."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from trimtab.processes.control_groups import HasProcesses


class Sprinter(ABC):
    """Speeds one job at a time up.

    As a context manager it rests at the start, and restores the machine at the end. `normal_milli`
    and `sprint_milli` are the thousandths of cores that the job has.
    """

    description: str
    normal_milli: int
    sprint_milli: int

    def wrap(self, command: Sequence[str]) -> Sequence[str]:
        """Return the command that starts `command` under this sprinter's control."""
        return command

    def attach(self, job: HasProcesses) -> None:
        """Set the running job, started by `wrap`'s command or not."""
        return None

    @abstractmethod
    def sprint(self) -> None:
        """Speed the job up."""

    @abstractmethod
    def rest(self) -> None:
        """Return to the normal speed."""

    def restore(self) -> None:
        """Restore the machine's original state."""
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
    """Leaves every job at its speed, for policies without sprints."""

    description = "none"

    def __init__(self) -> None:
        self.normal_milli = self.sprint_milli = 1000 * len(os.sched_getaffinity(0))

    def sprint(self) -> None:
        """Do nothing."""

    def rest(self) -> None:
        """Do nothing."""
