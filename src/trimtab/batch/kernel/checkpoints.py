"""How long a job runs with its checkpoints, and what of its work counts if it stops now."""

import math
from typing import Any

from trimtab.batch.kernel.layout import BatchState
from trimtab.batch.kernel.widths import width_factor
from trimtab.clusters.compiled import inlined, lean


@lean
def _with_checkpoints(progress: Any, lasts_s: float) -> float:
    """Add checkpoints to a run: none is written at its end."""
    written = max(0.0, math.ceil(lasts_s / progress.interval_s) - 1.0)
    return float(progress.restart_s + lasts_s + written * progress.cost_s)


@inlined
def wall_s(s: BatchState, slot: int, number: int, work_s: float) -> float:
    """Return how long a job has nodes of a type, at its width, for work of `work_s` as recorded."""
    job = s.jobs[slot]
    lasts_s = work_s * (s.sites[job.kind, number].slowdown * width_factor(job))
    if s.clock[0].interrupts:
        lasts_s = _with_checkpoints(s.progress[slot], lasts_s)
    return float(lasts_s)


@lean
def measure(s: BatchState, slot: int, at_s: float, run: Any) -> float:
    """Write into `run` what a running job did until a time; return the rest of a begun checkpoint.

    Work since the last checkpoint is in `lost_s`. The rest is 0 where none is being written.
    """
    job, progress = s.jobs[slot], s.progress[slot]
    run.start_s, run.end_s, run.job = job.start_s, at_s, slot
    run.type, run.nodes, run.first, run.parts = job.type, job.nodes, job.first, job.parts
    left_s = at_s - job.start_s
    run.waking_s = min(left_s, job.waking_s)
    run.startup_s, run.pulls = min(job.startup_s, run.waking_s), job.pulls
    left_s -= run.waking_s
    run.restart_s = min(left_s, progress.restart_s)
    left_s -= run.restart_s
    run.saved_s, run.checkpoint_s = 0.0, 0.0
    if progress.interval_s < math.inf:
        written = math.floor(left_s / (progress.interval_s + progress.cost_s))
        run.saved_s = written * progress.interval_s
        run.checkpoint_s = written * progress.cost_s
        left_s = max(0.0, left_s - run.saved_s - run.checkpoint_s)
    run.lost_s = min(left_s, progress.interval_s)
    begun_s = left_s - run.lost_s
    run.checkpoint_s += begun_s
    return float(progress.cost_s - begun_s if begun_s > 0.0 else 0.0)
