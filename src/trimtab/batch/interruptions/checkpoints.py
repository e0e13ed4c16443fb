"""Checkpoints of jobs: `--checkpoint`, and the columns of jobs."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.kernel.layout import NIL, PROGRESS
from trimtab.errors import UserError

COLUMNS = ("checkpoint_interval_s", "checkpoint_cost_s", "restart_cost_s")

LONGEST_S = 30 * 86400.0
# Seconds of each column: the least and the most. An infinite interval is an empty one.
LIMITS_S = ((1.0, LONGEST_S), (0.0, LONGEST_S), (0.0, LONGEST_S))


class Checkpoint(NamedTuple):
    """A checkpoint every `interval_s` of a run, which takes `cost_s`; a restart takes `restart_s`.

    An infinite interval: only where a policy preempts the job.
    """

    interval_s: float
    cost_s: float
    restart_s: float = 0.0


def parse_checkpoint(text: str) -> Checkpoint:
    """Return what `--checkpoint INTERVAL:COST[:RESTART]` says, in seconds; INTERVAL may be inf."""
    try:
        interval_s, *costs_s = map(float, text.split(":"))
        checkpoint = Checkpoint(interval_s, *costs_s)
    except (ValueError, TypeError):
        checkpoint = Checkpoint(0.0, 0.0)
    for name, seconds, (least, most) in zip(COLUMNS, checkpoint, LIMITS_S, strict=True):
        is_never = name == COLUMNS[0] and seconds == math.inf
        if not (least <= seconds <= most or is_never):
            raise UserError(
                f"--checkpoint: {text!r} given, expected seconds INTERVAL:COST[:RESTART], such as"
                " 3600:30:60; INTERVAL is 1 or more, and inf for checkpoints at preemption only;"
                f" none is above {LONGEST_S:,.0f} (30 days)"
            )
    return checkpoint


def with_checkpoints(jobs: pd.DataFrame, checkpoint: Checkpoint) -> pd.DataFrame:
    """Return jobs (BATCH_JOBS) that have `checkpoint` where their own columns are empty."""
    own = has_checkpoints(jobs)
    given = pd.Series(checkpoint, index=COLUMNS).replace(np.inf, np.nan)
    filled = jobs[list(COLUMNS)].fillna(given)
    filled[COLUMNS[0]] = filled[COLUMNS[0]].where(~own, jobs[COLUMNS[0]])
    return jobs.assign(**filled)


def has_checkpoints(jobs: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which jobs (BATCH_JOBS) have checkpoints: those that name an interval or a cost."""
    return np.asarray(jobs[list(COLUMNS[:2])].notna().any(axis=1), bool)


def progress_of(jobs: pd.DataFrame) -> NDArray[np.void]:
    """Return the PROGRESS of jobs (BATCH_JOBS) that have not begun.

    Without an interval, a job has checkpoints only at preemption.
    """
    interval_s, cost_s, restart_s = (jobs[name].to_numpy(np.float64) for name in COLUMNS)
    rows = np.zeros(len(jobs), PROGRESS)
    rows["saves"] = has_checkpoints(jobs)
    rows["interval_s"] = np.where(np.isnan(interval_s), np.inf, interval_s)
    rows["cost_s"] = np.nan_to_num(cost_s)
    rows["restart_cost_s"] = np.nan_to_num(restart_s)
    rows["target"] = NIL
    return rows
