"""How much training a configuration is given before it is judged: epochs, and a share of the data.

Thesis, section 7.4.3 and Algorithm 6: a level is the algorithm's iteration, and what a level means
in epochs and data is the kind of budget.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

BudgetKind = StrEnum("BudgetKind", "EPOCHS DATA BOTH")  # what grows from level to level
_EXACT_DIGITS = 12  # 3 * 0.1 is 0.3


@dataclass(frozen=True, order=True)
class Budget:
    """What a configuration is trained with in all, since its first epoch.

    `data_fraction` is the share of the training data, above 0 and up to 1.
    """

    epochs: int
    data_fraction: float = 1.0

    @property
    def work_epochs(self) -> float:
        """Training from the beginning, in epochs over the whole data."""
        return self.epochs * self.data_fraction

    def work_after(self, before: "Budget | None") -> float:
        """Training that is left after `before`, in epochs over the whole data.

        From a checkpoint only the epochs that are missing are trained, on the larger share; where
        none is missing, more data takes a beginning of its own.
        """
        if before is None or before.epochs >= self.epochs:
            return self.work_epochs
        return (self.epochs - before.epochs) * self.data_fraction


@dataclass(frozen=True)
class Fidelity:
    """The budgets of all levels, from 1 to `levels`, at which everything that grows is at its most.

    With `EPOCHS` they grow, on the whole data; with `DATA` it grows, for one epoch; with `BOTH`
    both grow, each to its own limit.
    """

    kind: BudgetKind
    least_epochs: int
    most_epochs: int
    least_data_fraction: float = 1.0

    @property
    def levels(self) -> int:
        """The first level whose budget no later one exceeds."""
        epochs = math.ceil(self.most_epochs / self.least_epochs)
        data = math.ceil(round(1 / self.least_data_fraction, _EXACT_DIGITS))
        if self.kind == BudgetKind.EPOCHS:
            return epochs
        return data if self.kind == BudgetKind.DATA else max(epochs, data)

    def at(self, level: int) -> Budget:
        """Return the budget of a level, which is at least 1: line 2 and 3 of Algorithm 6."""
        epochs = min(self.least_epochs * level, self.most_epochs)
        data_fraction = min(round(self.least_data_fraction * level, _EXACT_DIGITS), 1.0)
        if self.kind == BudgetKind.EPOCHS:
            return Budget(epochs)
        return Budget(1 if self.kind == BudgetKind.DATA else epochs, data_fraction)
