"""Training budgets of a configuration: epochs, and a share of the data.

Thesis, section 7.4.3 and Algorithm 6: a level is the algorithm's iteration. The kind of budget maps
levels to epochs and data.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

BudgetKind = StrEnum("BudgetKind", "EPOCHS DATA BOTH")  # the quantities that grow with levels
_EXACT_DIGITS = 12  # 3 * 0.1 is 0.3


@dataclass(frozen=True, order=True)
class Budget:
    """The total training of a configuration since its first epoch.

    `data_fraction` is the share of the training data, above 0 and up to 1.
    """

    epochs: int
    data_fraction: float = 1.0

    @property
    def work_epochs(self) -> float:
        """Training from the start, in epochs over the whole data."""
        return self.epochs * self.data_fraction

    def work_after(self, before: "Budget | None") -> float:
        """Training left after `before`, in epochs over the whole data.

        From a checkpoint, only the missing epochs are trained, on the larger share. If only data
        grows, training restarts.
        """
        if before is None or before.epochs >= self.epochs:
            return self.work_epochs
        return (self.epochs - before.epochs) * self.data_fraction


@dataclass(frozen=True)
class Fidelity:
    """The budgets of all levels from 1 to `levels`, the largest budget.

    `EPOCHS` grows epochs, on the whole data; `DATA` grows the data, for one epoch; `BOTH` grows
    both, each to its own limit.
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
        """Return the budget of a level, 1 or higher: lines 2 and 3 of Algorithm 6."""
        epochs = min(self.least_epochs * level, self.most_epochs)
        data_fraction = min(round(self.least_data_fraction * level, _EXACT_DIGITS), 1.0)
        if self.kind == BudgetKind.EPOCHS:
            return Budget(epochs)
        return Budget(1 if self.kind == BudgetKind.DATA else epochs, data_fraction)
