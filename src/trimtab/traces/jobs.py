"""From the jobs that a reader found to chunks of a trace."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from trimtab.records.tables import TRACE
from trimtab.traces.arrival_order import ROWS_PER_CHUNK
from trimtab.traces.classes import put_into_classes

_WHOLE = ["cpu_milli", "gpu_milli", "memory_bytes"]


def jobs_frame(
    arrival_s: Any,
    work_s: Any,
    cpu_milli: Any,
    gpu_milli: Any = 0,
    memory_bytes: Any = 0,
    priority: Any = 0,
    copies: Any = 1,
) -> pd.DataFrame:
    """Return one row a job as found in a file: arrays of one length, or one number for all.

    `copies` is how many equal jobs a row stands for.
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
    """Yield the rows that a trace can hold, and count the others in `skipped` by reason."""
    for frame in frames:
        finite = np.isfinite(frame.to_numpy(np.float64)).all(axis=1)
        backwards = frame["work_s"] < 0
        no_core = frame["cpu_milli"] <= 0
        skipped["incomplete"] += int((~finite).sum())
        skipped["ends before it starts"] += int((finite & backwards).sum())
        skipped["asks for no core"] += int((finite & ~backwards & no_core).sum())
        yield frame[finite & ~backwards & ~no_core]


def as_trace(
    frames: Iterable[pd.DataFrame], rows_per_chunk: int = ROWS_PER_CHUNK
) -> Iterator[pd.DataFrame]:
    """Yield chunks with the columns of tables.TRACE from jobs that are sorted by arrival.

    Time counts from the first arrival. Demands are rounded up and give the classes, as
    trimtab.traces.classes says. None is a job of rounds.
    """
    jobs, origin_s = 0, 0.0
    for frame in rechunked(_without_copies(frames, rows_per_chunk), rows_per_chunk):
        if not jobs:
            origin_s = float(frame["arrival_s"].iloc[0])
        whole = {name: np.ceil(frame[name]).astype(np.int64) for name in _WHOLE}
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


def rechunked(frames: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of `frames` in frames of `rows` rows, the last with what is left."""
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
    """Yield each row as often as its `copies` says, in frames of at most `rows` rows."""
    for frame in frames:
        ends = np.cumsum(frame["copies"].to_numpy(np.int64))
        total = int(ends[-1]) if ends.size else 0
        for begin in range(0, total, rows):
            copies = np.arange(begin, min(begin + rows, total))
            yield frame.iloc[np.searchsorted(ends, copies, side="right")]
