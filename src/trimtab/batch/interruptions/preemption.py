"""Preemption by priority: `--preempt`."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from trimtab.batch.kernel.layout import BatchState
from trimtab.errors import UserError

_PRIORITY = "priority"
_MOST = 1 << 31


class Preemption(NamedTuple):
    """Jobs of higher tiers come first, and may interrupt those of lower ones.

    `tiers` is of queues, as PriorityTier of Slurm's partitions: jobs of others come last, and are
    never interrupted. None: the priority of a job is its tier, as in Kubernetes.
    """

    tiers: Mapping[str, int] | None


def parse_preempt(text: str, jobs: pd.DataFrame) -> Preemption:
    """Return what `--preempt` says of queues of `jobs` (BATCH_JOBS); UserError with the part."""
    if text == _PRIORITY:
        return Preemption(None)
    queues = [name for name in jobs["queue"].unique().tolist() if name]
    has = f"JOBS has {', '.join(queues[:20])}" if queues else "JOBS has none"
    expected = f"expected {_PRIORITY}, or QUEUE=TIER,... such as urgent=2,normal=1; {has}"
    tiers: dict[str, int] = {}
    for part in text.split(","):
        name, _, tier = part.strip().rpartition("=")
        if not tier.isascii() or not tier.isdigit() or not 0 < int(tier[:11]) < _MOST:
            raise UserError(f"--preempt: {part.strip()!r} given, a tier is 1 or more; {expected}")
        if name not in queues:
            raise UserError(f"--preempt: no jobs of queue {name!r}; {expected}")
        if name in tiers:
            raise UserError(f"--preempt: {name} twice; {expected}")
        tiers[name] = int(tier)
    return Preemption(tiers)


def set_tiers(s: BatchState, jobs: pd.DataFrame, preemption: Preemption) -> None:
    """Write the tiers of jobs (BATCH_JOBS) into `s`, which has only these."""
    if preemption.tiers is None:
        tier = jobs["priority"].to_numpy(np.int64)
        s.progress["preemptable"] = 1
    else:
        tier = jobs["queue"].map(preemption.tiers).fillna(0).to_numpy(np.int64)
        s.progress["preemptable"] = tier > 0
    s.jobs["tier"] = tier
    s.clock["preempts"] = 1
