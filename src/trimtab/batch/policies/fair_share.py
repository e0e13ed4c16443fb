"""The user who has used the least lately comes first, with EASY backfilling."""

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.policies.base import BatchPolicy, WaitingJobs
from trimtab.errors import UserError

_DAY_S = 86400.0


class FairShare(BatchPolicy):
    """Users have equal shares; use halves every `usage_half_life_s`."""

    reorder_s = 300.0

    def __init__(self, half_life_days: float) -> None:
        """Raise UserError for a half-life that is not above 0."""
        if not half_life_days > 0:
            raise UserError(f"fair_share: half_life_days: {half_life_days:g} is not above 0")
        self.usage_half_life_s = half_life_days * _DAY_S

    def order(self, jobs: WaitingJobs, now_s: float) -> NDArray[np.float64]:
        """Return the use of each job's user."""
        return jobs.user_usage


def build(*, half_life_days: float = 7.0) -> BatchPolicy:
    """Return the policy; 7 days is the default of Slurm's PriorityDecayHalfLife."""
    return FairShare(half_life_days)
