"""What goes on beside the trials of a search and adds to their metrics.

Thesis, section 7.3.3: the inference tuning server is asked for each training trial as it starts,
works while that trains, and what it found counts when the trial is judged. It works on CPUs that
trials have at other times.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from trimtab.tuning.score import Failure


class SideTask(Protocol):
    """Is told of every trial on every rung, and asked for metrics when it has trained."""

    @property
    def cpus_wanted(self) -> int:
        """How many CPUs it wants for what there is to do now; 0 where that is nothing."""

    def work(self, cpus: Sequence[int]) -> None:
        """Work on these CPUs, in any thread, and return when nothing is left to do.

        What it raises ends the search.
        """

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Hear that a trial has begun, with all its parameters by their full names."""

    def is_known(self, trial: int) -> bool:
        """Whether `metrics` of a trial that has begun would not wait."""

    def dropped(self, trial: int) -> None:
        """Hear that a trial has failed: its metrics are not going to be asked for."""

    def taken(self) -> tuple[float, float] | None:
        """Return the seconds and joules of its work since this was asked last; None for no work."""

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """Return what a trial is judged by, beside what its training gave; it may wait for that.

        It is asked in any thread, once for each beginning that was not dropped.
        """


class NoSideTask:
    """No companion: trials are judged by their training."""

    cpus_wanted = 0

    def work(self, cpus: Sequence[int]) -> None:
        """Nothing is to be done."""

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Nothing goes on beside."""

    def is_known(self, trial: int) -> bool:
        """Nothing is waited for."""
        return True

    def dropped(self, trial: int) -> None:
        """Nothing goes on beside."""

    def taken(self) -> None:
        """Nothing was done."""

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """As every companion's."""
        return {}
