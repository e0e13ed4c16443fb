"""Groups of jobs with equal demands, of which the simulator tries the first ones alone."""

import numpy as np

from trimtab.batch.kernel import layout
from trimtab.batch.kernel.layout import NIL, NO_CAP, BatchState


def with_groups(s: BatchState) -> BatchState:
    """Return `s` with its jobs, whose order is final, in groups.

    Unchanged where jobs of equal demands may differ in more than their estimates.
    """
    jobs, clock = s.jobs, s.clock[0]
    fixed = (jobs["least_parts"] == jobs["most_parts"]) & (jobs["parts"] == jobs["recorded_parts"])
    if clock["interrupts"] or clock["cap_mw"] < NO_CAP or len(s.images) or not fixed.all():
        return s
    _, group = np.unique(
        jobs["kind"] * (jobs["parts"].max() + 1) + jobs["parts"], return_inverse=True
    )
    count = np.bincount(group)
    by_group = np.lexsort((jobs["order"], group))  # ties: by submission
    jobs["group"] = group
    jobs["leaf"][by_group] = np.arange(len(jobs)) - np.repeat(np.cumsum(count) - count, count)
    groups = np.zeros(len(count), layout.GROUP)
    groups["leaves"] = 2 ** np.ceil(np.log2(count)).astype(np.int64)
    groups["first"] = 2 * (np.cumsum(groups["leaves"]) - groups["leaves"])
    return s._replace(
        groups=groups,
        tree=np.full(2 * groups["leaves"].sum(), NIL),
        active=np.zeros(len(groups), np.int64),
        candidates=np.zeros(len(groups), np.int64),
    )
