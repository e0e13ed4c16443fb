"""The job with the earliest deadline first, with EASY backfilling; jobs without one come last."""

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.policies.base import BatchPolicy, WaitingJobs


class EarliestDeadline(BatchPolicy):
    """Earliest due date, as in Jackson (1955): on one node, it has the least largest tardiness."""

    def order(self, jobs: WaitingJobs, now_s: float) -> NDArray[np.float64]:
        """Return the deadlines."""
        return jobs.deadline_s


def build() -> BatchPolicy:
    """Return the policy."""
    return EarliestDeadline()
