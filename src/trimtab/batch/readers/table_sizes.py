"""Sizes of jobs from a table's counts of nodes, tasks, processors, cores, GPUs, and memory."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from trimtab.batch.readers.columns import Column
from trimtab.batch.readers.sizes import Values, parts_of_gpus, per_part

COUNTS = ("processors", "cores", "gpus", "nodes", "tasks")


def add_sizes(frame: pd.DataFrame, columns: Mapping[str, Column], remarks: list[str]) -> None:
    """Add parts, distinct, cpu_milli, gpu_milli and memory_bytes; say in `remarks` what is assumed.

    `frame` has the numbers of `columns`: of the whole job, or of one of what `Column.per` names.
    """
    one = np.ones(len(frame))
    nodes, tasks = (
        frame[role].fillna(1).to_numpy() if role in frame else None for role in ("nodes", "tasks")
    )
    # How many there are of what a demand can be of.
    number = {"": one}
    number["nodes"] = next(each for each in (nodes, tasks, one) if each is not None)
    number["tasks"] = next(each for each in (tasks, nodes, one) if each is not None)

    def total(role: str) -> Values:
        """Return a demand of the whole job; NaN if unknown."""
        if role not in frame:
            return one * np.nan
        return np.asarray(frame[role].to_numpy() * number.get(columns[role].per, one))

    gpus = np.nan_to_num(total("gpus"), posinf=np.inf)
    number["gpus"] = gpus
    cores = _cores(frame, total("cores"), number, remarks)
    number["cores"] = np.nan_to_num(cores, nan=1.0, posinf=np.inf)
    parts = np.maximum(_parts(frame, number, gpus, remarks), 1)
    frame["parts"] = np.rint(parts)
    frame["distinct"] = "nodes" in frame
    frame["cpu_milli"], frame["gpu_milli"] = per_part(cores, parts), per_part(gpus, parts)
    frame["memory_bytes"] = np.nan_to_num(total("memory"), posinf=np.inf) / parts


def _cores(
    frame: pd.DataFrame, cores: Values, number: Mapping[str, Values], remarks: list[str]
) -> Values:
    """Return the cores of a job: one for each of something else where they are unknown."""
    for role in ("processors", "gpus", "tasks", "nodes"):
        if role in frame:
            if "cores" not in frame and role != "processors":
                remarks.append(f"no column of cores: a core for each of the {role}")
            others = frame[role].to_numpy() if role == "processors" else number[role]
            return np.where(np.isnan(cores), others, cores)
    return cores


def _parts(
    frame: pd.DataFrame, number: Mapping[str, Values], gpus: Values, remarks: list[str]
) -> Values:
    for role in ("nodes", "tasks"):
        if role in frame:
            return number[role]
    if "processors" in frame:
        return np.asarray(frame["processors"].fillna(1).to_numpy())
    parts = parts_of_gpus(gpus)
    on_several = ", but above 8 GPUs on several" if (parts > 1).any() else ""
    remarks.append(
        f"no column of nodes, tasks or processors: a job is on one node{on_several} (if cores may"
        " be on any nodes, name their column processors)"
    )
    return parts
