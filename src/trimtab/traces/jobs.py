"""Turns a reader's jobs into chunks of a trace, with few classes, named by their demands.

Demands are exact. A simulator keeps tables by class, and people read them: both need few classes.
So a class has the jobs whose demands are equal once rounded up to three significant binary digits:
1, 1.25, 1.5, 1.75, 2, 2.5, ... units. Units are a quarter core, 256 MiB, and an eighth of a GPU up
to one GPU, whole GPUs beyond. A class's name has the most that its jobs demand of cores, GPUs and
GiB, and their priority, except zeros: `4c_16g`, `8c_1gpu_32g_p2`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.records.tables import TRACE
from trimtab.traces.arrival_order import ROWS_PER_CHUNK

_WHOLE = ["cpu_milli", "gpu_milli", "memory_bytes"]
CPU_UNIT_MILLI = 250
GPU_UNIT_MILLI = 125
MEMORY_UNIT_BYTES = 256 * 2**20
_DEMANDS = ["cpu_milli", "gpu_milli", "memory_bytes", "priority"]
# Limits of a time in s or a demand in bytes or thousandths, and of equal jobs in a row.
_LARGEST, _MOST_COPIES = 2.0**53, 10**7


def jobs_frame(
    arrival_s: Any,
    work_s: Any,
    cpu_milli: Any,
    gpu_milli: Any = 0,
    memory_bytes: Any = 0,
    priority: Any = 0,
    copies: Any = 1,
) -> pd.DataFrame:
    """Return a file's jobs, one per row, from arrays of one length or one number for all.

    `copies` is the number of equal jobs that a row represents.
    """
    return pd.DataFrame(
        {
            "arrival_s": np.asarray(arrival_s, np.float64),
            "work_s": work_s,
            "cpu_milli": cpu_milli,
            "gpu_milli": gpu_milli,
            "memory_bytes": memory_bytes,
            "priority": priority,
            "copies": copies,
        }
    )


def usable(frames: Iterable[pd.DataFrame], skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    """Yield the rows that are valid in a trace, and count the others in `skipped` by reason."""
    for frame in frames:
        values = np.abs(frame.to_numpy(np.float64))
        finite = np.isfinite(values).all(axis=1)
        absurd = finite & ((values > _LARGEST).any(axis=1) | (values[:, -1] > _MOST_COPIES))
        if absurd.any():
            skipped["beyond any machine"] += int(absurd.sum())
            frame, finite = frame[~absurd], finite[~absurd]
        backwards = frame["work_s"] < 0
        no_core = frame["cpu_milli"] <= 0
        skipped["incomplete"] += int((~finite).sum())
        skipped["ends before it starts"] += int((finite & backwards).sum())
        skipped["asks for no core"] += int((finite & ~backwards & no_core).sum())
        yield frame[finite & ~backwards & ~no_core]


def as_trace(
    frames: Iterable[pd.DataFrame], rows_per_chunk: int = ROWS_PER_CHUNK
) -> Iterator[pd.DataFrame]:
    """Yield chunks with the columns of tables.TRACE from jobs sorted by arrival.

    Time counts from the first arrival. A fraction of a thousandth or a byte counts as a whole one.
    No job has rounds.
    """
    jobs, origin_s = 0, 0.0
    for frame in rechunked(_without_copies(frames, rows_per_chunk), rows_per_chunk):
        if not jobs:
            origin_s = float(frame["arrival_s"].iloc[0])
        whole = {name: _whole(frame[name].to_numpy(np.float64)) for name in _WHOLE}
        chunk = put_into_classes(frame.assign(priority=frame["priority"].astype(np.int64), **whole))
        yield chunk.assign(
            job=np.arange(jobs, jobs + len(chunk)),
            arrival_s=chunk["arrival_s"] - origin_s,
            work_s=chunk["work_s"].astype(np.float64),
            map_tasks=0,
            reduce_tasks=0,
            size=1.0,
        )[TRACE.names]
        jobs += len(chunk)


def _whole(demand: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole numbers, none below `demand` by more than an error of floating point."""
    nearest = np.rint(demand)
    is_whole = np.isclose(demand, nearest, rtol=1e-12, atol=1e-9) & (nearest > 0)
    return np.where(is_whole, nearest, np.ceil(demand)).astype(np.int64)


def rechunked(frames: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of `frames` in frames of `rows` rows; the last may be shorter."""
    held: list[pd.DataFrame] = []
    count = 0
    for frame in frames:
        held.append(frame)
        count += len(frame)
        if count < rows:
            continue
        joined = pd.concat(held, ignore_index=True)
        whole = count - count % rows
        for begin in range(0, whole, rows):
            yield joined.iloc[begin : begin + rows].reset_index(drop=True)
        held, count = [joined.iloc[whole:]], count - whole
    if count:
        yield pd.concat(held, ignore_index=True)


def _without_copies(frames: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Yield each row `copies` times, in frames of at most `rows` rows."""
    for frame in frames:
        ends = np.cumsum(frame["copies"].to_numpy(np.int64))
        total = int(ends[-1]) if ends.size else 0
        for begin in range(0, total, rows):
            copies = np.arange(begin, min(begin + rows, total))
            yield frame.iloc[np.searchsorted(ends, copies, side="right")]


def rounded_up(demand: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return `demand` rounded up to three significant binary digits of `unit`; 0 stays 0."""
    units = -(-demand // unit)
    # frexp is exact for whole numbers below 2^53.
    digits = np.frexp(units.astype(np.float64))[1].astype(np.int64)
    step = np.int64(1) << np.maximum(digits - 3, 0)
    rounded: NDArray[np.int64] = -(-units // step) * step * unit
    return rounded


def put_into_classes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with job_class, by its demands and priority, which are whole numbers."""
    gpu_milli = frame["gpu_milli"].to_numpy(np.int64)
    most = frame[_DEMANDS].assign(
        cpu_milli=rounded_up(frame["cpu_milli"].to_numpy(np.int64), CPU_UNIT_MILLI),
        gpu_milli=np.where(
            gpu_milli <= 1000, rounded_up(gpu_milli, GPU_UNIT_MILLI), rounded_up(gpu_milli, 1000)
        ),
        memory_bytes=rounded_up(frame["memory_bytes"].to_numpy(np.int64), MEMORY_UNIT_BYTES),
    )
    # Both number equal demands in the order of their first appearance.
    group = most.groupby(_DEMANDS, sort=False).ngroup().to_numpy()
    kinds = most.drop_duplicates().to_numpy(np.int64).tolist()
    names = pd.array([_name(*demands) for demands in kinds], dtype=str)
    return frame.assign(job_class=names.take(group))


def _name(cpu_milli: int, gpu_milli: int, memory_bytes: int, priority: int) -> str:
    parts = [
        f"{cpu_milli / 1000:g}c",
        f"{gpu_milli / 1000:g}gpu" if gpu_milli else "",
        f"{memory_bytes / 2**30:g}g" if memory_bytes else "",
        f"p{priority}" if priority else "",
    ]
    return "_".join(part for part in parts if part)
