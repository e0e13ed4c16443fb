"""Which architecture's inference is measured next; nothing here runs or waits.

Thesis, section 7.3.3: the inference of an architecture is tuned while its trial trains. A trial is
judged after that, so all trials of an architecture share its measurements and see the same cost.
"""

from collections.abc import Callable


class Agenda:
    """The architectures of the running trials, by a key each.

    `is_complete` says whether an architecture has nothing left to measure.
    """

    def __init__(self, is_complete: Callable[[str], bool]) -> None:
        self.is_complete = is_complete
        self._training: dict[int, str] = {}
        self._ended: dict[int, str] = {}

    def started(self, trial: int, architecture: str) -> None:
        """Record that a trial of an architecture begins to train."""
        self._training[trial] = architecture

    def needs(self, trial: int) -> str:
        """Return the architecture of a training trial."""
        return self._training[trial]

    def dropped(self, trial: int) -> None:
        """Record that nobody will wait for the result of a training trial."""
        del self._training[trial]

    def ended(self, trial: int) -> str:
        """Record that a trial's training has ended; return the architecture it waits for."""
        self._ended[trial] = self._training.pop(trial)
        return self._ended[trial]

    def judged(self, trial: int) -> None:
        """Record that a trial has its result."""
        del self._ended[trial]

    def next(self) -> str | None:
        """Return the architecture to measure next, or None where none is left.

        Waiting trials come first, then the trial that trains longest.
        """
        for architecture in (*self._ended.values(), *self._training.values()):
            if not self.is_complete(architecture):
                return architecture
        return None
