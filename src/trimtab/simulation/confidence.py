"""How sure a simulated mean is."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student


def half_width(means: ArrayLike, *, confidence: float) -> float:
    """Return half the width of the confidence interval of the mean of independent `means`.

    Student's t; `means` are two or more, of replications or of batches of one long series.
    """
    values = np.asarray(means, float)
    quantile = student.ppf((1 + confidence) / 2, len(values) - 1)
    return float(quantile * values.std(ddof=1) / np.sqrt(len(values)))
