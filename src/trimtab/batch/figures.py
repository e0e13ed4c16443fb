"""The figures of a schedule: waits and bounded slowdowns first, by queue and by width."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from trimtab.batch.model import reference_speed, speeds_of
from trimtab.batch.nodes import has_gpu_type
from trimtab.clusters.cluster import Cluster
from trimtab.records.batch.comparison import GroupWaits, QueueWaits, WaitFigures

BOUND_S = 10.0  # of run times, in slowdowns
_WIDEST = (1, 8, 64, 512)  # cores or GPUs of a class of width
_MOST_QUEUES, _LONGEST_NAME = 50, 100


def waits_of(jobs: pd.DataFrame, wait_s: pd.Series, response_s: pd.Series) -> QueueWaits:
    """Return the figures of waits, responses and bounded slowdowns of jobs (BATCH_JOBS).

    All three have the same index. Of more than 50 queues, those with the most jobs are shown.
    """
    slowdown = bounded_slowdown(response_s, jobs["run_s"])
    times = pd.DataFrame({"wait_s": wait_s, "response_s": response_s, "slowdown": slowdown})
    queues = jobs["queue"].astype(str).str.slice(0, _LONGEST_NAME)
    most = queues.value_counts().index[:_MOST_QUEUES]
    queues = queues.where(queues.isin(most)).replace("", "(none)")
    names, classes = width_classes(jobs)
    widths = pd.Series(np.array(names)[classes], index=jobs.index)
    by_width = _by(widths, times)
    return QueueWaits(
        every=WaitFigures(**_of_jobs(times)),
        by_queue=_by(queues, times) if queues.nunique() > 1 else [],
        by_width=sorted(by_width, key=lambda each: names.index(each.name)),
        user_fairness=_fairness(jobs["user"].astype(str), slowdown),
    )


def recorded_waits(jobs: pd.DataFrame) -> QueueWaits | None:
    """Return the recorded figures of jobs; None unless all have a recorded start."""
    if jobs["recorded_start_s"].isna().any():
        return None
    wait_s = (jobs["recorded_start_s"] - jobs["submit_s"]).clip(lower=0.0)
    return waits_of(jobs, wait_s, wait_s + jobs["run_s"])


def bounded_slowdown(response_s: pd.Series, recorded_s: pd.Series) -> pd.Series:
    """Return response / max(recorded run, 10 s), at least 1: slow nodes are a slowdown, too.

    Feitelson and others, JSSPP 1997.
    """
    return (response_s / recorded_s.clip(lower=BOUND_S)).clip(lower=1.0)


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
    of_job, kinds = pd.factorize(jobs["gpu_type"].astype(str).str.lower())
    ran, ran_on = pd.factorize(jobs["run_gpu_type"].astype(str).str.lower())
    for unit in ("cpu_milli", "gpu_milli"):
        speeds = speeds_of(cluster, unit == "gpu_milli")
        sizes = np.array([getattr(each, unit) for each in cluster.node_types], float)
        has = sizes * cluster.counts
        fits = {
            kind: np.array([has_gpu_type(each, kind) for each in cluster.node_types])
            & np.isfinite(speeds)
            for kind in sorted({"", *kinds})
        }
        speed = [
            [reference_speed(cluster, speeds, kind, other) for other in ran_on] for kind in kinds
        ]
        work = jobs["run_s"] * jobs["parts"] * jobs[unit] * np.nan_to_num(speed)[of_job, ran]
        for kind, fit in fits.items():
            capacity = float((has * speeds)[fit].sum())
            asked = work[kinds[of_job] == kind] if kind else work
            if capacity > 0:
                loads.append(float(asked.sum()) / (capacity * span_s))
    return max(loads)


def _by(key: pd.Series, times: pd.DataFrame) -> list[GroupWaits]:
    return [
        GroupWaits(name=str(name), **_of_jobs(rows)) for name, rows in times.groupby(key, sort=True)
    ]


def _of_jobs(times: pd.DataFrame) -> dict[str, Any]:
    wait_s, response_s, slowdown = (times[name] for name in ("wait_s", "response_s", "slowdown"))
    middle, most = np.percentile(wait_s, [50, 95])
    return {
        "jobs": len(times),
        "mean_wait_s": float(wait_s.mean()),
        "median_wait_s": float(middle),
        "p95_wait_s": float(most),
        "longest_wait_s": float(wait_s.max()),
        "mean_response_s": float(response_s.mean()),
        "p95_response_s": float(np.percentile(response_s, 95)),
        "mean_bounded_slowdown": max(1.0, float(slowdown.mean())),  # rounding
    }


def _fairness(users: pd.Series, slowdown: pd.Series) -> float | None:
    """Return Jain's index over users' means: (sum x)^2 / (n sum x^2)."""
    means = slowdown.groupby(users).mean().to_numpy()
    if len(means) < 2:
        return None
    return min(1.0, float(math.pow(means.sum(), 2) / (len(means) * np.square(means).sum())))
