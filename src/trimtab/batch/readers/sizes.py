"""Demands of one part of a job from the demands of the whole job."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
GPUS_OF_A_NODE = 8  # the most of common servers


def per_part(total: Values, parts: Values) -> Values:
    """Return the thousandths of cores or GPUs of one part; whole ones are shared as whole ones."""
    whole = np.isfinite(total) & (total == np.rint(total))
    return np.where(whole, np.ceil(total / parts) * 1000, total * 1000 / parts)


def parts_of_gpus(gpus: Any) -> Values:
    """Return the number of equal parts, of at most eight GPUs each, of jobs without a width."""
    return np.maximum(np.ceil(np.nan_to_num(np.asarray(gpus, np.float64)) / GPUS_OF_A_NODE), 1)
