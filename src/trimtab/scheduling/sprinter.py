"""What speeds the running job up for a while."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from trimtab.scheduling.executions import Execution


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

    def attach(self, execution: Execution) -> None:
        """Take the job that has just been started from `wrap`'s command."""
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.restore()
