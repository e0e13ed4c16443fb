"""Groups of jobs of equal demands and images: the simulator tries the first of each alone."""

import numpy as np

from trimtab.batch.kernel import layout
from trimtab.batch.kernel.layout import NIL, NO_CAP, BatchState


def with_groups(s: BatchState, *, final: bool) -> BatchState:
    """Return `s` with its jobs in groups, which have trees if the order of jobs is `final`.

    Unchanged where jobs of equal demands may differ in more than their estimates.
    """
    jobs, clock = s.jobs, s.clock[0]
    fixed = (jobs["least_parts"] == jobs["most_parts"]) & (jobs["parts"] == jobs["recorded_parts"])
    if clock["interrupts"] or clock["cap_mw"] < NO_CAP or not fixed.all():
        return s
    demands = jobs["kind"] * (int(jobs["parts"].max()) + 1) + jobs["parts"]
    if len(s.images):
        demands = np.unique(demands, return_inverse=True)[1] * (len(s.images) + 1) - jobs["image"]
    _, first, s.group[:] = np.unique(demands, return_index=True, return_inverse=True)
    groups = np.zeros(len(first), layout.GROUP)
    groups["kind"] = jobs["kind"][first]
    if not final:
        return s._replace(groups=groups)
    clock["trees"] = 1
    count = np.bincount(s.group)
    by_group = np.lexsort((s.order, s.group))  # ties: by submission
    jobs["leaf"][by_group] = np.arange(len(jobs)) - np.repeat(np.cumsum(count) - count, count)
    groups["leaves"] = 2 ** np.ceil(np.log2(count)).astype(np.int64)
    groups["first"] = 2 * (np.cumsum(groups["leaves"]) - groups["leaves"])
    return s._replace(
        groups=groups,
        tree=np.full(2 * groups["leaves"].sum(), NIL),
        active=np.zeros(len(groups), np.int64),
        candidates=np.zeros(len(groups), np.int64),
    )
