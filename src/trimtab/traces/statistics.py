"""What is known of a trace's classes, from its chunks: the trace may be longer than memory."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.traces.table import read_trace

_MEANS = ["work_s", "cpu_milli", "gpu_milli", "memory_bytes"]


def class_statistics(path: Path) -> tuple[pd.DataFrame, float]:
    """Return a row for each class of the trace at `path`, by name, and the last arrival in s.

    Columns: `jobs`, `without_work` (jobs that draw their time when they start), and the means of
    work_s, cpu_milli, gpu_milli and memory_bytes; that of work_s is of the jobs that have one, NaN
    where none has. Raises UserError as read_trace.
    """
    totals = pd.DataFrame(columns=["jobs", "worked", *_MEANS], dtype=np.float64)
    last_arrival_s = 0.0
    for frame in read_trace(path):
        by_class = frame.groupby(frame["job_class"].astype(str))
        parts = by_class[_MEANS].sum()
        parts.insert(0, "worked", by_class["work_s"].count())
        parts.insert(0, "jobs", by_class.size())
        totals = totals.add(parts, fill_value=0.0)
        last_arrival_s = float(frame["arrival_s"].iloc[-1])
    means = totals[_MEANS].div(totals["jobs"], axis=0)
    means["work_s"] = totals["work_s"] / totals["worked"].where(totals["worked"] > 0)
    counts = pd.DataFrame(
        {"jobs": totals["jobs"], "without_work": totals["jobs"] - totals["worked"]}
    ).astype(int)
    return counts.join(means).sort_index(), last_arrival_s


def arrivals_by_class(path: Path, edges_s: NDArray[np.float64]) -> dict[str, list[int]]:
    """Return how many jobs of each class arrived in each bin, whose edges in s are given."""
    found: dict[str, NDArray[np.int64]] = {}
    for frame in read_trace(path):
        for name, times_s in frame.groupby(frame["job_class"].astype(str))["arrival_s"]:
            counts = np.histogram(times_s, edges_s)[0]
            found[str(name)] = found.get(str(name), 0) + counts
    return {name: found[name].tolist() for name in sorted(found)}
