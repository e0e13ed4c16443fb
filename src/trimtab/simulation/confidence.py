"""How sure a simulated mean is."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student


def batch_means(
    values: ArrayLike, *, batches: int = 32, confidence: float = 0.99
) -> tuple[float, float]:
    """Return the mean of a stationary series and half the width of its confidence interval.

    The series, in the order of time, is cut into `batches` equal parts whose means are nearly
    independent, although neighbours in the series are not; a rest at the begin is left out. (Law,
    Simulation Modeling and Analysis, section 9.5.3.) Raises ValueError for fewer values than
    batches.
    """
    series = np.asarray(values, float)
    size = len(series) // batches
    if size == 0:
        raise ValueError(f"{len(series)} values for {batches} batches")
    means = series[len(series) - size * batches :].reshape(batches, size).mean(axis=1)
    quantile = student.ppf((1 + confidence) / 2, batches - 1)
    return float(means.mean()), float(quantile * means.std(ddof=1) / np.sqrt(batches))
