"""The job with the shortest estimate first, with EASY backfilling."""

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.policies.base import BatchPolicy, WaitingJobs


class ShortestFirst(BatchPolicy):
    """Long jobs can wait without bound while shorter ones arrive."""

    def order(self, jobs: WaitingJobs, now_s: float) -> NDArray[np.float64]:
        """Return the estimates."""
        return jobs.estimate_s


def build() -> BatchPolicy:
    """Return the policy."""
    return ShortestFirst()
