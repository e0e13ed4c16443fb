"""Measures the loss of accuracy by dropped tasks (Rocha's thesis, figure 4.5).

For use from Python (docs/reference/library.md), as in benchmarks/spark.py.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import pandas as pd

from trimtab.spark.program import SparkProgram
from trimtab.spark.session import Session


class Estimator(SparkProgram, Protocol):
    """A program whose answer with dropped tasks estimates the exact one."""

    def error_pct(self, found: Any, exact: Any, theta: float) -> float:
        """Return the relative error of an answer found at the drop ratio `theta`."""
        ...


def measure_accuracy(
    session: Session, program: Estimator, thetas: Sequence[float], repeats: int = 5
) -> pd.DataFrame:
    """Return the relative error of a program at each drop ratio: theta, repeat, error_pct.

    Each of the `repeats` draws other tasks to drop.
    """
    exact = program(session.context, 0.0, 0)
    rows = [
        (theta, repeat, program.error_pct(program(session.context, theta, repeat), exact, theta))
        for theta in thetas
        for repeat in range(repeats)
    ]
    return pd.DataFrame(rows, columns=["theta", "repeat", "error_pct"])
