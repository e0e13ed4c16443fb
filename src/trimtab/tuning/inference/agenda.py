"""Whose inference is measured next: pure bookkeeping, nothing here runs or waits.

Thesis, section 7.3.3: the tuning of an architecture's inference is to be done before its training
trial is. Trials of one architecture share what is measured.
"""

from collections.abc import Callable


class Agenda:
    """The architectures of the trials that run, by a key each.

    `measured` says how many configurations of an architecture were, `is_enough` whether there is
    a result, and `is_complete` whether nothing is left to measure.
    """

    def __init__(
        self,
        measured: Callable[[str], int],
        is_enough: Callable[[str], bool],
        is_complete: Callable[[str], bool],
    ) -> None:
        self._measured, self._is_enough, self._is_complete = measured, is_enough, is_complete
        self._training: dict[int, str] = {}
        self._ended: dict[int, str] = {}

    def started(self, trial: int, architecture: str) -> None:
        """Say that a trial of an architecture trains from now on."""
        self._training[trial] = architecture

    def ended(self, trial: int) -> str:
        """Say that a trial's training has ended and its result is waited for; return which."""
        self._ended[trial] = self._training.pop(trial)
        return self._ended[trial]

    def judged(self, trial: int) -> None:
        """Say that the result of a trial was taken."""
        del self._ended[trial]

    def is_ready(self, architecture: str) -> bool:
        """Whether a trial that has ended can be judged."""
        return self._is_enough(architecture) or self._is_complete(architecture)

    def next(self) -> str | None:
        """Return the architecture to measure a configuration of, or None where there is none.

        What is waited for comes first; then the one of which the fewest were measured, of equal
        ones that of the earlier trial, so that each has a result before any has its best.
        """
        for architecture in self._ended.values():
            if not self.is_ready(architecture):
                return architecture
        left = [one for one in self._training.values() if not self._is_complete(one)]
        return min(left, key=self._measured, default=None)
