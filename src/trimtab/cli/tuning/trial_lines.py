"""The lines of `trimtab tune` about its trials."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trimtab.config.groups.objective import Goal, Objective

if TYPE_CHECKING:
    from trimtab.tuning.plan import RungResult


class TrialLines:
    """The reported results of a search; its best has the most training, as in best.yaml.

    `objectives` are of its folds; with two folds, the second one's best counts, once it has one.
    """

    def __init__(self, objectives: Sequence[Objective], rungs: int) -> None:
        """Begin without results of the `rungs` in all folds."""
        self._signs = [1.0 if one.goal == Goal.MAXIMISE else -1.0 for one in objectives]
        self._rungs, self._done = rungs, set[tuple[int, int, int, float]]()
        self._best: tuple[int, tuple[int, float], float, int] | None = None

    def add(
        self, fold: int, trial: int, epochs: int, data_fraction: float, score: float | None
    ) -> None:
        """Add a trial's score; None is a failure."""
        self._done.add((fold, trial, epochs, data_fraction))
        if score is not None:
            found = (fold, (epochs, data_fraction), score, -trial)
            self._best = found if self._best is None else max(self._best, found)

    def line(self, fold: int, result: "RungResult") -> str | None:
        """Add a result and return its line; None if it was reported before."""
        score = result.result if isinstance(result.result, float) else None
        budget = result.budget
        if (fold, result.trial, budget.epochs, budget.data_fraction) in self._done:
            return None
        self.add(fold, result.trial, budget.epochs, budget.data_fraction, score)
        trained = _budget_in_words(budget.epochs, budget.data_fraction)
        said = f"failed: {getattr(result.result, 'reason', '')}"
        if score is not None:
            said = f"{self._signs[fold - 1] * score:.4g} in {result.training_s:.1f} s"
            said += "" if math.isnan(result.training_j) else f", {result.training_j:.3g} J"
        line = f"[{len(self._done)}/{self._rungs}] trial {result.trial}, {trained}: {said}"
        if self._best is None:
            return line
        of_fold, most, best, trial = self._best
        of = f"trial {-trial}, {_budget_in_words(*most)}"
        return f"{line}; best so far {self._signs[of_fold - 1] * best:.4g} ({of})"


def _budget_in_words(epochs: int, data_fraction: float) -> str:
    share = "" if data_fraction == 1 else f" on {data_fraction:.0%}"
    return f"{epochs} epoch{'s' if epochs != 1 else ''}{share}"
