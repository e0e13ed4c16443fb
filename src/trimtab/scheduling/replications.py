"""Figures of several replications: their means, and how sure these are."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from trimtab.records.figures import JobFigures

FiguresT = TypeVar("FiguresT", bound=JobFigures)
_HALF_WIDTH = "_half_width_99"
_CONFIDENCE = 0.99


def mean_figures(replications: Sequence[FiguresT]) -> FiguresT:
    """Return the mean of every figure, with the half-width of the intervals of some.

    A figure that is the same in all replications stays what it is: a count stays whole.
    """
    kind = type(replications[0])
    names = [field.name for field in fields(kind)]
    means: dict[str, Any] = {}
    for name in names:
        values = [getattr(figures, name) for figures in replications]
        if len(set(values)) == 1:
            means[name] = values[0]
        else:
            known = np.array([value for value in values if value is not None], dtype=float)
            means[name] = float(known.mean())
    if len(replications) > 1:
        for name in names:
            if name.endswith(_HALF_WIDTH):
                key = name.removesuffix(_HALF_WIDTH)
                means[name] = _half_width([getattr(figures, key) for figures in replications])
    return kind(**means)


def half_width(means: ArrayLike, *, confidence: float) -> float:
    """Return half the width of the confidence interval of the mean of independent `means`.

    Student's t; `means` are two or more, of replications or of batches of one long series.
    """
    values = np.asarray(means, float)
    quantile = student.ppf((1 + confidence) / 2, len(values) - 1)
    return float(quantile * values.std(ddof=1) / np.sqrt(len(values)))


def _half_width(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return half_width(known, confidence=_CONFIDENCE) if len(known) > 1 else None
