"""Whose inference is measured next: pure bookkeeping, nothing here runs or waits.

Thesis, section 7.3.3: the tuning of an architecture's inference is to be done before its training
trial is. A trial is judged when it is, so that all trials of an architecture see the same cost.
They share what is measured.
"""

from collections.abc import Callable


class Agenda:
    """The architectures of the trials that run, by a key each.

    `is_complete` says whether nothing is left to measure of an architecture.
    """

    def __init__(self, is_complete: Callable[[str], bool]) -> None:
        self.is_complete = is_complete
        self._training: dict[int, str] = {}
        self._ended: dict[int, str] = {}

    def started(self, trial: int, architecture: str) -> None:
        """Say that a trial of an architecture trains from now on."""
        self._training[trial] = architecture

    def needs(self, trial: int) -> str:
        """Return the architecture of a trial that trains."""
        return self._training[trial]

    def dropped(self, trial: int) -> None:
        """Say that the result of a trial that trains is not going to be waited for."""
        del self._training[trial]

    def ended(self, trial: int) -> str:
        """Say that a trial's training has ended and its result is waited for; return which."""
        self._ended[trial] = self._training.pop(trial)
        return self._ended[trial]

    def judged(self, trial: int) -> None:
        """Say that the result of a trial was taken."""
        del self._ended[trial]

    def next(self) -> str | None:
        """Return the architecture to measure a configuration of, or None where there is none.

        What is waited for comes first, then that of the trial that has trained for longest.
        """
        for architecture in (*self._ended.values(), *self._training.values()):
            if not self.is_complete(architecture):
                return architecture
        return None
