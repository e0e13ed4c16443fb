"""The limits that end a search before its plan does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from trimtab.tuning.fidelity import Budget
from trimtab.tuning.scoring.front import Scores, never_better_since


class _Trial(Protocol):
    @property
    def scores(self) -> Any: ...

    @property
    def rows(self) -> Any: ...

    def all_scores(self, budget: Budget) -> Scores: ...


def _say_nothing(reason: str) -> None:
    pass


@dataclass(frozen=True)
class SearchLimits:
    """What a search may cost: seconds of wall time, joules, and trials in vain.

    `patience` is the most full trials in a row that an earlier one equals or dominates. None is no
    limit. `trials` replaces the plan's number of configurations. `on_reached` gets the reached
    limit in words.
    """

    trials: int | None = None
    wall_s: float | None = None
    energy_j: float | None = None
    patience: int | None = None
    on_reached: Callable[[str], None] = field(default=_say_nothing, compare=False)

    def reached(
        self,
        searched_s: float,
        running_j: float,
        trials: Callable[[], Iterable[_Trial]],
        most: Budget,
    ) -> str:
        """Return the limit that is reached, in words; empty for none.

        `running_j` are the joules of running trials so far, `trials` returns those of the journal,
        and `most` is the budget of a full trial.
        """
        if self.wall_s is not None and searched_s >= self.wall_s:
            return f"--time {self.wall_s:g}s is over"
        if self.energy_j is None and self.patience is None:
            return ""
        rows = [(row, budget, one) for one in trials() for budget, row in one.rows.items()]
        if self.energy_j is not None:
            spent_j = running_j + sum(row["energy_j"] or 0.0 for row, _, _ in rows)
            if spent_j >= self.energy_j:
                return f"--energy {self.energy_j:g}J is spent"
        if self.patience is not None:
            full = sorted(
                (row["ended_s"], one.all_scores(budget))
                for row, budget, one in rows
                if budget == most and budget in one.scores
            )
            if never_better_since([scores for _, scores in full]) >= self.patience:
                return f"--patience {self.patience}: so many full trials found nothing better"
        return ""


NO_LIMITS = SearchLimits()
