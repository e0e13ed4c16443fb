"""The runs of jobs, also those that were interrupted, and what interruptions cost."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.kernel import layout
from trimtab.batch.kernel.layout import BatchState
from trimtab.clusters.cluster import Cluster
from trimtab.records.batch.comparison import Interruptions
from trimtab.records.batch.tables import BATCH_RUNS

_KEPT = ["job", "end_s", "nodes", "parts", "startup_s", "restart_s", "checkpoint_s", "lost_s"]


def all_runs(s: BatchState) -> NDArray[np.void]:
    """Return the interrupted runs, then the last run of each job, as RUN."""
    count = int(s.clock[0]["submissions"])
    rows, progress = s.jobs[:count], s.progress[:count]
    last = np.zeros(count, layout.RUN)
    last["job"] = np.arange(count)
    for name in set(layout.RUN.names or ()) & set(layout.JOB.names or ()):
        last[name] = rows[name]
    last["restart_s"] = progress["restart_s"]
    work_s = ran_s(last) - last["restart_s"]  # with the checkpoints
    every_s = progress["interval_s"] + progress["cost_s"]
    written = np.maximum(np.ceil(work_s / every_s) - 1, 0)
    last["checkpoint_s"] = written * progress["cost_s"]
    return np.concatenate([s.runs[: s.clock[0]["logged"]], last])


def ran_s(runs: NDArray[np.void]) -> NDArray[np.float64]:
    """Return how long each run lasts, once its nodes are awake."""
    lasts_s: NDArray[np.float64] = runs["end_s"] - (runs["start_s"] + runs["waking_s"])
    return lasts_s


def runs_table(
    runs: NDArray[np.void],
    rows: NDArray[np.void],
    power_w: NDArray[np.float64],
    cluster: Cluster,
) -> pd.DataFrame:
    """Return runs of the jobs `rows` (JOB) as BATCH_RUNS; `power_w` [kind, type] is of a part."""
    names = np.array([node_type.name for node_type in cluster.node_types])
    power_w = power_w[rows["kind"][runs["job"]], runs["type"]] * runs["parts"]
    table = pd.DataFrame({name: runs[name] for name in _KEPT}).assign(
        start_s=runs["start_s"] + runs["waking_s"],
        node_type=names[runs["type"]],
        interrupted=np.arange(len(runs)) < len(runs) - len(rows),
        energy_j=power_w * ran_s(runs),
    )
    return pd.DataFrame(table[BATCH_RUNS.names])


def interruptions_of(
    runs: NDArray[np.void], rows: NDArray[np.void], kinds: NDArray[np.void]
) -> Interruptions:
    """Return how often the jobs `rows` (JOB), of `kinds` (KIND), were interrupted, and its cost."""
    of_kind = kinds[rows["kind"][runs["job"]]]
    lost_h = runs["lost_s"] * runs["parts"] / 3600.0
    interrupted = runs["job"][: len(runs) - len(rows)]
    return Interruptions(
        count=len(interrupted),
        jobs=len(np.unique(interrupted)),
        lost_core_h=float(lost_h @ of_kind["cpu"]) / 1000,
        lost_gpu_h=float(lost_h @ of_kind["gpu"]) / 1000,
        checkpoint_h=float(runs["checkpoint_s"].sum()) / 3600,
        restart_h=float(runs["restart_s"].sum()) / 3600,
    )
