"""The figures of a schedule: waits and bounded slowdowns first, by queue and by width."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from trimtab.batch.nodes import has_gpu_type
from trimtab.clusters.cluster import Cluster
from trimtab.records.batch.comparison import GroupWaits, QueueWaits, WaitFigures

BOUND_S = 10.0  # of run times, in slowdowns
_WIDEST = (1, 8, 64, 512)  # cores or GPUs of a class of width
_MOST_QUEUES, _LONGEST_NAME = 50, 100


def waits_of(jobs: pd.DataFrame, wait_s: pd.Series, slowdown: pd.Series) -> QueueWaits:
    """Return the figures of waits and bounded slowdowns of jobs, which are rows of BATCH_JOBS.

    All three have the same index. Of more than 50 queues, those with the most jobs are shown.
    """
    queues = jobs["queue"].astype(str).str.slice(0, _LONGEST_NAME)
    most = queues.value_counts().index[:_MOST_QUEUES]
    queues = queues.where(queues.isin(most)).replace("", "(none)")
    names, classes = width_classes(jobs)
    widths = pd.Series(np.array(names)[classes], index=jobs.index)
    by_width = _by(widths, wait_s, slowdown)
    return QueueWaits(
        every=WaitFigures(**_of_jobs(wait_s, slowdown)),
        by_queue=_by(queues, wait_s, slowdown) if queues.nunique() > 1 else [],
        by_width=sorted(by_width, key=lambda each: names.index(each.name)),
        user_fairness=_fairness(jobs["user"].astype(str), slowdown),
    )


def recorded_waits(jobs: pd.DataFrame) -> QueueWaits | None:
    """Return the figures of jobs with a recorded start; None if no job has one."""
    known = jobs[jobs["recorded_start_s"].notna()]
    if known.empty:
        return None
    wait_s = (known["recorded_start_s"] - known["submit_s"]).clip(lower=0.0)
    return waits_of(known, wait_s, bounded_slowdown(wait_s, known["run_s"]))


def bounded_slowdown(wait_s: pd.Series, run_s: pd.Series) -> pd.Series:
    """Return (wait + run) / max(run, 10 s), at least 1 (Feitelson and others, JSSPP 1997)."""
    return ((wait_s + run_s) / run_s.clip(lower=BOUND_S)).clip(lower=1.0)


def width_classes(jobs: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Return the names of all classes of width, narrow first, and the class of each job.

    The width of a job is that of all its parts: GPUs if it has any, else cores.
    """
    names = []
    for unit in ("core", "GPU"):
        names.append(f"up to 1 {unit}")
        for below, most in pairwise(_WIDEST):
            names.append(f"{below + 1} to {most} {unit}s")
        names.append(f"over {_WIDEST[-1]} {unit}s")
    gpu_milli = (jobs["parts"] * jobs["gpu_milli"]).to_numpy()
    cpu_milli = (jobs["parts"] * jobs["cpu_milli"]).to_numpy()
    has_gpus = gpu_milli > 0
    # Above 8 cores is above 8: 8,001 thousandths are in the next class.
    edges = 1000 * np.array(_WIDEST)
    found = np.searchsorted(edges, np.where(has_gpus, gpu_milli, cpu_milli), side="left")
    return names, found + has_gpus * (len(_WIDEST) + 1)


def offered_load(jobs: pd.DataFrame, cluster: Cluster) -> float | None:
    """Return the largest ratio of what jobs ask for to what the nodes have while jobs arrive.

    It is of cores or GPUs, of all jobs or of those that ask for one type of GPU. None if arrivals
    last less than the longest job: then there is no rate of them.
    """
    span_s = float(jobs["submit_s"].max() - jobs["submit_s"].min())
    if not span_s > jobs["run_s"].max():
        return None
    loads = [0.0]
    kinds = jobs["gpu_type"].astype(str).str.lower()
    for kind in ("", *sorted(set(kinds) - {""})):
        asked = jobs[kinds == kind] if kind else jobs
        fits = [has_gpu_type(each, kind) for each in cluster.node_types]
        for unit in ("cpu_milli", "gpu_milli"):
            has = sum(
                count * getattr(node_type, unit) * node_type.levels[-1].speed
                for node_type, count, fit in zip(
                    cluster.node_types, cluster.counts, fits, strict=True
                )
                if fit
            )
            speeds = kinds[asked.index].map(lambda name: _reference_speed(name, cluster))
            work = float((asked["run_s"] * asked["parts"] * asked[unit] * speeds).sum())
            if has:
                loads.append(work / (has * span_s))
    return max(loads)


def _reference_speed(gpu_type: str, cluster: Cluster) -> float:
    """Return the speed of the node type that a job's recorded run time is of."""
    own = (each for each in cluster.node_types if has_gpu_type(each, gpu_type))
    return next(own, cluster.node_types[0]).levels[-1].speed


def _by(key: pd.Series, wait_s: pd.Series, slowdown: pd.Series) -> list[GroupWaits]:
    groups = key.groupby(key, sort=True).groups
    return [
        GroupWaits(name=str(name), **_of_jobs(wait_s[rows], slowdown[rows]))
        for name, rows in groups.items()
    ]


def _of_jobs(wait_s: pd.Series, slowdown: pd.Series) -> dict[str, Any]:
    middle, most = np.percentile(wait_s, [50, 95])
    return {
        "jobs": len(wait_s),
        "mean_wait_s": float(wait_s.mean()),
        "median_wait_s": float(middle),
        "p95_wait_s": float(most),
        "longest_wait_s": float(wait_s.max()),
        "mean_bounded_slowdown": max(1.0, float(slowdown.mean())),  # rounding
    }


def _fairness(users: pd.Series, slowdown: pd.Series) -> float | None:
    """Return Jain's index over users' means: (sum x)^2 / (n sum x^2)."""
    means = slowdown.groupby(users).mean().to_numpy()
    if len(means) < 2:
        return None
    return min(1.0, float(math.pow(means.sum(), 2) / (len(means) * np.square(means).sum())))
