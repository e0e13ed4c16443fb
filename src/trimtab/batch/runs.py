"""The runs of jobs, also those that were interrupted, and what interruptions cost."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.kernel.layout import RUN, BatchState
from trimtab.batch.model import Kinds
from trimtab.clusters.cluster import Cluster
from trimtab.records.batch.comparison import Interruptions
from trimtab.records.batch.tables import BATCH_RUNS


def all_runs(s: BatchState, kinds: Kinds) -> NDArray[np.void]:
    """Return the interrupted runs, then the last run of each job, as RUN."""
    count = int(s.clock[0]["submissions"])
    rows, progress = s.jobs[:count], s.progress[:count]
    last = np.zeros(count, RUN)
    last["job"] = np.arange(count)
    for name in ("start_s", "end_s", "waking_s", "type", "nodes", "first"):
        last[name] = rows[name]
    last["restart_s"] = progress["restart_s"]
    last["saved_s"] = rows["run_s"] * kinds.slowdown[rows["kind"], rows["type"]]
    written = np.maximum(np.ceil(last["saved_s"] / progress["interval_s"]) - 1, 0)
    last["checkpoint_s"] = written * progress["cost_s"]
    return np.concatenate([s.runs[: s.clock[0]["logged"]], last])


def ran_s(runs: NDArray[np.void]) -> NDArray[np.float64]:
    """Return how long each run lasts, once its nodes are awake."""
    lasts_s: NDArray[np.float64] = runs["end_s"] - (runs["start_s"] + runs["waking_s"])
    return lasts_s


def runs_table(
    runs: NDArray[np.void], rows: NDArray[np.void], kinds: Kinds, cluster: Cluster
) -> pd.DataFrame:
    """Return runs of the jobs `rows` (JOB) as BATCH_RUNS."""
    names = np.array([node_type.name for node_type in cluster.node_types])
    kind = rows["kind"][runs["job"]]
    power_w = kinds.power_w[kind, runs["type"]] * rows["parts"][runs["job"]]
    table = pd.DataFrame({name: runs[name] for name in ("job", "end_s", "nodes")}).assign(
        start_s=runs["start_s"] + runs["waking_s"],
        node_type=names[runs["type"]],
        interrupted=np.arange(len(runs)) < len(runs) - len(rows),
        restart_s=runs["restart_s"],
        checkpoint_s=runs["checkpoint_s"],
        lost_s=runs["lost_s"],
        energy_j=power_w * ran_s(runs),
    )
    return pd.DataFrame(table[BATCH_RUNS.names])


def interruptions_of(runs: NDArray[np.void], rows: NDArray[np.void], kinds: Kinds) -> Interruptions:
    """Return how often the jobs `rows` (JOB) were interrupted, and what that cost."""
    parts = rows["parts"][runs["job"]]
    of_kind = kinds.rows[rows["kind"][runs["job"]]]
    lost_h = runs["lost_s"] * parts / 3600.0
    interrupted = runs["job"][: len(runs) - len(rows)]
    return Interruptions(
        count=len(interrupted),
        jobs=len(np.unique(interrupted)),
        lost_core_h=float(lost_h @ of_kind["cpu"]) / 1000,
        lost_gpu_h=float(lost_h @ of_kind["gpu"]) / 1000,
        checkpoint_h=float(runs["checkpoint_s"].sum()) / 3600,
        restart_h=float(runs["restart_s"].sum()) / 3600,
    )
