"""What goes on beside the trials of a search and adds to their metrics.

Thesis, section 7.3.3: the inference tuning server is asked for each training trial as it starts,
works while that trains, and what it found counts when the trial is judged.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from trimtab.tuning.score import Failure


class Companion(Protocol):
    """Is told of every trial on every rung, and asked for metrics when it has ended."""

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Hear that a trial has begun, with all its parameters by their full names."""

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """Return what a trial that has ended is judged by, beside what its training gave."""


class Alone:
    """No companion: trials are judged by their training."""

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Nothing goes on beside."""

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """As every companion's."""
        return {}
