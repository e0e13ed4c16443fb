"""The window of an export: what was there at its beginning, and which jobs' waits count.

An export such as `sacct -S` has all jobs that ended, or wait, after a time. Of those submitted
before, it has only the long ones, so their waits say nothing; but they hold nodes.
"""

import numpy as np
import pandas as pd

from trimtab.errors import UserError

WARM_UP = 0.05  # share of jobs
_MOST_WARM_UP = 0.45


def in_window(jobs: pd.DataFrame, warm_up: float = WARM_UP) -> tuple[pd.DataFrame, list[str]]:
    """Return jobs (BATCH_JOBS) as they are simulated, and remarks on what does not count.

    The window begins at the first recorded end, if all jobs have recorded starts and most were
    submitted later. Jobs that ran then hold nodes for the rest of their run time; those that waited
    count as submitted then. Neither count in figures, nor do jobs that still ran at the export,
    jobs without a recorded start where others have one, and of the others the first and the last
    share `warm_up`: the machine fills and empties. (Feitelson's group leaves out the first 1 % and
    what ends after the last submission: Tsafrir and others, IEEE TPDS 18(6), 2007; such a rule by
    ends would take other jobs for each policy.) If none is left, all count. Raises UserError for
    another share than 0 to 0.45.
    """
    if not 0 <= warm_up <= _MOST_WARM_UP:
        raise UserError(f"--warm-up {warm_up:g}: expected a share of 0 to {_MOST_WARM_UP:g}")
    jobs, before = _from_first_end(jobs)
    counted = jobs["counted"].to_numpy(bool) & ~before
    start_known = jobs["recorded_start_s"].notna().to_numpy()
    without_start = counted & ~start_known & start_known.any()
    still_ran = ~jobs["counted"].to_numpy(bool) & ~before
    rows = np.flatnonzero(counted & ~without_start)
    edge = int(warm_up * len(rows))
    counted[:] = False
    counted[rows[edge : len(rows) - edge]] = True
    if not counted.any():
        return jobs.assign(counted=True), ["too few jobs to leave any out: all waits count"]
    reasons = {
        "were there when the first job ended": int(before.sum()),
        "still ran at the export": int(still_ran.sum()),
        "have no recorded start": int(without_start.sum()),
        f"are the first and the last {100 * warm_up:g} %": 2 * edge,
    }
    said = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
    remark = (
        f"waits are of {counted.sum():,} of {len(jobs):,} jobs; the others only hold nodes: {said}"
    )
    return jobs.assign(counted=counted), [remark] if said else []


def _from_first_end(jobs: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return jobs as they are from the first recorded end on, and which were there then."""
    submit_s, start_s = (jobs[name].to_numpy() for name in ("submit_s", "recorded_start_s"))
    run_s, estimate_s = (jobs[name].to_numpy() for name in ("run_s", "estimate_s"))
    begin_s = np.min(start_s + run_s)
    before = submit_s < begin_s  # none where a start is unknown
    if 2 * before.sum() > len(jobs):
        return jobs, np.zeros(len(jobs), bool)
    held_s = np.where(before, np.maximum(begin_s - start_s, 0.0), 0.0)
    left_s = run_s - held_s
    changed = jobs.assign(
        submit_s=np.where(before, begin_s, submit_s),
        run_s=left_s,
        estimate_s=np.where(before, np.maximum(estimate_s - held_s, left_s), estimate_s),
        recorded_start_s=np.where(before, np.maximum(start_s, begin_s), start_s),
    )
    # Those that ran come first: they have their nodes.
    order = np.lexsort((submit_s, before & (held_s == 0.0), ~before))
    changed = changed.iloc[order].reset_index(drop=True)
    return changed.assign(job=np.arange(len(jobs))), before[order]
