"""A task that runs beside the trials of a search and adds to their metrics.

Thesis, section 7.3.3: the inference tuning server starts with each training trial and works while
it trains; its result counts when the trial is judged. It works on CPUs that trials use at other
times.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from trimtab.tuning.scoring.score import Failure


class SideTask(Protocol):
    """Is notified of every trial on every rung, and asked for metrics after its training."""

    @property
    def cpus_wanted(self) -> int:
        """The number of CPUs it wants now; 0 where it has no work."""

    def work(self, cpus: Sequence[int]) -> None:
        """Work on these CPUs, in any thread, until nothing is left to do.

        An exception ends the search.
        """

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Notify that a trial has begun, with all its parameters by their full names."""

    def is_known(self, trial: int) -> bool:
        """Whether `metrics` of a trial that has begun would return at once."""

    def dropped(self, trial: int) -> None:
        """Notify that a trial has failed: its metrics will not be asked for."""

    def taken(self) -> tuple[float, float] | None:
        """Return the seconds and joules of its work since the last call; None for no work."""

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """Return a trial's metrics besides those of its training; may wait for them.

        Called in any thread, once for each `started` trial that was not `dropped`.
        """


class NoSideTask:
    """No side task: trials are judged by their training."""

    cpus_wanted = 0

    def work(self, cpus: Sequence[int]) -> None:
        """Do nothing."""

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Do nothing."""

    def is_known(self, trial: int) -> bool:
        """Always true: `metrics` never waits."""
        return True

    def dropped(self, trial: int) -> None:
        """Do nothing."""

    def taken(self) -> None:
        """Return None: it did no work."""

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """Return no metrics."""
        return {}
