"""The lines of `trimtab tune` about its trials."""

import math
from collections.abc import Sequence

from trimtab.config.groups.objective import Objective
from trimtab.tuning.plan import RungResult
from trimtab.tuning.scoring.front import Scores, front_of
from trimtab.tuning.scoring.score import Failure, scores_of


class TrialLines:
    """The reported results of a search; its best have the most training, as in best.yaml.

    `objectives` are of its folds; with two folds, the second one's best count, once it has some.
    """

    def __init__(self, objectives: Sequence[Objective], rungs: int) -> None:
        """Begin without results of the `rungs` in all folds."""
        self._scores = [scores_of(one) for one in objectives]
        self._rungs, self._done = rungs, set[tuple[int, int, int, float]]()
        self._most = 0, (0, 0.0)  # the last fold with a score, and its most training
        self._best: list[tuple[int, Scores]] = []  # trials with it

    def add(
        self, fold: int, trial: int, epochs: int, data_fraction: float, scores: Scores | None
    ) -> None:
        """Add a trial's scores; None is a failure."""
        self._done.add((fold, trial, epochs, data_fraction))
        training = fold, (epochs, data_fraction)
        if scores is not None and training >= self._most:
            self._best = [*(self._best if training == self._most else []), (trial, scores)]
            self._most = training

    def line(self, fold: int, result: RungResult) -> str | None:
        """Add a result and return its line; None if it was reported before."""
        failure = result.result if isinstance(result.result, Failure) else None
        scores = None if isinstance(result.result, Failure) else (result.result, *result.others)
        budget = result.budget
        if (fold, result.trial, budget.epochs, budget.data_fraction) in self._done:
            return None
        self.add(fold, result.trial, budget.epochs, budget.data_fraction, scores)
        trained = _budget_in_words(budget.epochs, budget.data_fraction)
        said = "" if failure is None else f"failed: {failure.reason}"
        if scores is not None:
            said = f"{self._in_words(fold, scores)} in {result.training_s:.1f} s"
            said += "" if math.isnan(result.training_j) else f", {result.training_j:.3g} J"
        line = f"[{len(self._done)}/{self._rungs}] trial {result.trial}, {trained}: {said}"
        return f"{line}; {self._best_in_words()}" if self._best else line

    def _best_in_words(self) -> str:
        fold, training = self._most
        of = _budget_in_words(*training)
        best = sorted(self._best)
        front = front_of([scores for _, scores in best])
        trial, scores = best[front[0]]
        if len(scores) > 1:
            return f"{len(front)} on the Pareto front ({of})"
        return f"best so far {self._in_words(fold, scores)} (trial {trial}, {of})"

    def _in_words(self, fold: int, scores: Scores) -> str:
        each = zip(self._scores[fold - 1], scores, strict=True)
        named = [(one.expression, f"{one.as_defined(score):.4g}") for one, score in each]
        return named[0][1] if len(named) == 1 else ", ".join(" ".join(pair) for pair in named)


def _budget_in_words(epochs: int, data_fraction: float) -> str:
    share = "" if data_fraction == 1 else f" on {data_fraction:.0%}"
    return f"{epochs} epoch{'s' if epochs != 1 else ''}{share}"
