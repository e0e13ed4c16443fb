"""The runs of jobs, also those that were interrupted, and what interruptions cost."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.kernel import layout
from trimtab.batch.kernel.layout import NIL, BatchState
from trimtab.batch.power import curved_s
from trimtab.clusters.cluster import Cluster
from trimtab.records.batch.comparison import Interruptions
from trimtab.records.batch.tables import BATCH_RUNS

Runs = Mapping[str, NDArray[Any]]  # the fields of RUN; where none was interrupted, views of JOB

_KEPT = ["job", "end_s", "nodes", "parts", "startup_s", "restart_s", "checkpoint_s", "lost_s"]
_CAUSES = {layout.BY_RECLAIM: "reclaim", layout.BY_PRIORITY: "priority", layout.BY_ROUND: "round"}


def all_runs(s: BatchState) -> Runs:
    """Return the interrupted runs, then the last run of each job."""
    clock = s.clock[0]
    count, logged = int(clock["submissions"]), s.runs[: clock["logged"]]
    rows = s.jobs[:count]
    last: dict[str, NDArray[Any]] = {"job": np.arange(count)}
    for name in layout.RUN.names or ():
        if name != "job":
            known = name in (rows.dtype.names or ())
            last[name] = rows[name] if known else np.zeros(count, layout.RUN[name])
    if clock["interrupts"]:
        progress = s.progress[:count]
        last["restart_s"] = progress["restart_s"]
        work_s = ran_s(last) - last["restart_s"]  # with the checkpoints
        every_s = progress["interval_s"] + progress["cost_s"]
        written = np.maximum(np.ceil(work_s / every_s) - 1, 0)
        last["checkpoint_s"] = written * progress["cost_s"]
    if not len(logged):
        return last
    return {name: np.concatenate([logged[name], last[name]]) for name in last}


def ran_s(runs: Runs) -> NDArray[np.float64]:
    """Return how long each run lasts, once its nodes are awake."""
    lasts_s: NDArray[np.float64] = runs["end_s"] - (runs["start_s"] + runs["waking_s"])
    return lasts_s


def runs_table(
    runs: Runs, rows: NDArray[np.void], power_w: NDArray[np.float64], cluster: Cluster
) -> pd.DataFrame:
    """Return runs of the jobs `rows` (JOB) as BATCH_RUNS; `power_w` [kind, type] is of a part."""
    names = np.array([node_type.name for node_type in cluster.node_types], object)
    power_w = power_w[rows["kind"][runs["job"]], runs["type"]] * runs["parts"]
    causes = np.array([_CAUSES[cause] for cause in range(len(_CAUSES))], object)[runs["cause"]]
    causes[len(causes) - len(rows) :] = ""
    table = pd.DataFrame({name: runs[name] for name in _KEPT}).assign(
        start_s=runs["start_s"] + runs["waking_s"],
        node_type=names[runs["type"]],
        interrupted_by=causes,
        energy_j=power_w * ran_s(runs),
    )
    return pd.DataFrame(table[BATCH_RUNS.names])


def allocations_of(jobs: pd.DataFrame, runs: Runs, s: BatchState) -> pd.DataFrame:
    """Return job, node, parts, GPUs as bits and run, a row for each node of a run."""
    run, entries = _entries(runs, s)
    columns = {name: entries[name] for name in ("node", "parts", "gpus")}
    return pd.DataFrame({"job": jobs["job"].to_numpy()[runs["job"][run]], **columns, "run": run})


def beyond_linear_j(
    runs: Runs,
    s: BatchState,
    kinds: NDArray[np.void],
    cores_w: NDArray[np.float64],
    cluster: Cluster,
) -> NDArray[np.float64]:
    """Return the energy of each run, less what it would be if load curves were linear.

    `cores_w` [kind, type] is what the cores of a part draw then. Allocations were kept.
    """
    run, entries = _entries(runs, s)
    kind, parts = s.jobs["kind"][runs["job"]][run], entries["parts"]
    start_s, end_s = (runs["end_s"] - ran_s(runs))[run], runs["end_s"][run]
    as_linear_s = curved_s(entries["node"], start_s, end_s, kinds["cpu"][kind] * parts, cluster)
    more_j = cores_w[kind, runs["type"][run]] * parts * (as_linear_s - (end_s - start_s))
    return np.bincount(run, more_j, len(runs["job"])).astype(np.float64)


def _entries(runs: Runs, s: BatchState) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """Return the run and the ALLOCATION of each node that a run has."""
    run, entry = np.arange(len(runs["job"])), runs["first"]
    of_run, found = [], []
    while len(run):
        run, entry = run[entry != NIL], entry[entry != NIL]
        of_run.append(run)
        found.append(s.allocations[entry])
        entry = found[-1]["next"]
    numbers = np.concatenate(of_run)
    order = np.argsort(numbers, kind="stable")
    return numbers[order], np.concatenate(found)[order]


def interruptions_of(runs: Runs, rows: NDArray[np.void], kinds: NDArray[np.void]) -> Interruptions:
    """Return how often the jobs `rows` (JOB), of `kinds` (KIND), were interrupted, and its cost."""
    count = len(runs["job"]) - len(rows)
    of_kind = kinds[rows["kind"][runs["job"][:count]]]
    lost_h = (runs["lost_s"] * runs["parts"])[:count] / 3600.0
    return Interruptions(
        count=count,
        preemptions=int((runs["cause"][:count] == layout.BY_PRIORITY).sum()),
        jobs=len(np.unique(runs["job"][:count])),
        lost_core_h=float(lost_h @ of_kind["cpu"]) / 1000,
        lost_gpu_h=float(lost_h @ of_kind["gpu"]) / 1000,
        checkpoint_h=float(runs["checkpoint_s"].sum()) / 3600,
        restart_h=float(runs["restart_s"].sum()) / 3600,
    )
