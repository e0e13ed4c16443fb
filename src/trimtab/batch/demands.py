"""What jobs ask for, in words, and nodes that have it: for errors."""

import numpy as np
import pandas as pd

from trimtab.batch.model import kinds_of, with_room
from trimtab.batch.nodes import MOST_GPUS, MOST_NODES, parse_nodes
from trimtab.config.groups.hardware import Hardware

_MOST_TYPES = 8  # of GPU, in an error
_MOST_SHAPES = 3
_UNITS = {"cpu_milli": 1000, "memory_bytes": 1 << 30, "gpu_milli": 1000}
_DEMAND = ["parts", "cpu_milli", "memory_bytes", "gpu_milli", "distinct", "gpu_type"]


def largest_demand(jobs: pd.DataFrame) -> str:
    """Return the largest demands of jobs (BATCH_JOBS) in words."""
    cores, memory_gib, gpus = _size(jobs[list(_UNITS)].max())
    said = [f"{cores:,} cores"]
    said += [f"{memory_gib:,} GiB"] if memory_gib else []
    said += [f"{gpus:,} GPUs"] if gpus else []
    found = sorted(set(jobs["gpu_type"].astype(str)) - {""})[:_MOST_TYPES]
    types = f" (types {', '.join(found)})" if found else ""
    parts = int(jobs["parts"].max())
    return f"a job has up to {parts:,} part{'s' * (parts > 1)} of up to {', '.join(said)}{types}"


def suggested_nodes(jobs: pd.DataFrame) -> str:
    """Return a value of `--nodes` with room for each job alone: demands of up to three real jobs.

    The largest job comes first, by GPUs, cores, and memory; then the largest without room there. If
    three do not do, the last is as large as all that are left.
    """
    possible = (jobs["parts"] <= MOST_NODES) & (jobs["gpu_milli"] <= MOST_GPUS * 1000)
    left = jobs[possible].drop_duplicates(_DEMAND)
    whole = [left[name] * left["parts"] for name in ("gpu_milli", "cpu_milli", "memory_bytes")]
    left = left.iloc[np.lexsort([-each for each in reversed(whole)])]
    counts: dict[str, int] = {}
    for number in range(_MOST_SHAPES):
        if left.empty:
            break
        is_last = number == _MOST_SHAPES - 1
        largest = left.max(numeric_only=True) if is_last else left.iloc[0]
        cores, memory_gib, gpus = _size(largest)
        shape = f"{cores}c" + f"{memory_gib}g" * (memory_gib > 0) + f"{gpus}gpu" * (gpus > 0)
        counts[shape] = max(counts.get(shape, 0), int(largest["parts"]))
        cluster = parse_nodes(f"{shape}:{counts[shape]}", _no_name)
        left = left[~with_room(left, kinds_of(left, cluster))]
    return ",".join(f"{shape}:{count}" for shape, count in counts.items()) or "64c:1"


def _size(demand: "pd.Series[int]") -> tuple[int, int, int]:
    """Return the cores, GiB and GPUs of a part, rounded up; a core at least."""
    cores, memory_gib, gpus = (-(-int(demand[name]) // unit) for name, unit in _UNITS.items())
    return max(1, cores), memory_gib, gpus


def _no_name(name: str) -> Hardware:
    raise AssertionError(f"{name} is a shape")
