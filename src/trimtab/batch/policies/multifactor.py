"""Slurm's multifactor priority, with EASY backfilling.

https://slurm.schedmd.com/priority_multifactor.html: a weighted sum of factors from 0 to 1, renewed
every PriorityCalcPeriod (5 minutes). Age: waiting time, at most PriorityMaxAge (7 days). Fair
share: 2^(-U/S) of the classic algorithm, with U the user's part of the use of all users that wait,
and S their equal share. Size: the share of the cluster. Priority: the recorded one, relative to the
largest that waits.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.policies.base import BatchPolicy, WaitingJobs
from trimtab.errors import UserError

_DAY_S = 86400.0


class Multifactor(BatchPolicy):
    """Weights of the factors, as PriorityWeightAge, -FairShare, -JobSize and -QOS."""

    reorder_s = 300.0

    def __init__(
        self, age: float, fair_share: float, size: float, priority: float, max_age_days: float
    ) -> None:
        """Raise UserError for a weight below 0 or an age that is not above 0."""
        if min(age, fair_share, size, priority) < 0 or not max_age_days > 0:
            raise UserError("multifactor: expected weights of at least 0, max_age_days above 0")
        self.weights = (age, fair_share, size, priority)
        self.max_age_s = max_age_days * _DAY_S

    def order(self, jobs: WaitingJobs, now_s: float) -> NDArray[np.float64]:
        """Return the negative priorities."""
        age, fair_share, size, priority = self.weights
        usage = np.full(int(jobs.user.max(initial=-1)) + 1, np.nan)  # of those who wait
        usage[jobs.user] = jobs.user_usage
        users = int(np.count_nonzero(~np.isnan(usage)))
        total = float(usage[~np.isnan(usage)].sum())
        fair = 2.0 ** (-usage / total * users) if total > 0 else np.ones(len(usage))
        order = age * np.minimum((now_s - jobs.submit_s) / self.max_age_s, 1.0)
        order += fair_share * fair[jobs.user]
        if size:
            order += size * np.minimum(jobs.share, 1.0)
        if priority:
            largest = max(1, int(jobs.priority.max(initial=0)))
            order += priority * jobs.priority / largest
        return -order


def build(
    *,
    age: float = 1000.0,
    fair_share: float = 1000.0,
    size: float = 1000.0,
    priority: float = 0.0,
    max_age_days: float = 7.0,
) -> BatchPolicy:
    """Return the policy; Slurm's own default weights are 0, so equal ones are assumed.

    That of `priority` is 0, as Slurm records the sum of all factors as a job's priority.
    """
    return Multifactor(age, fair_share, size, priority, max_age_days)
