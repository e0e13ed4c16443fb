"""A trace as Parquet: writing, reading in chunks, checks of rows, and statistics of classes."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trimtab.errors import UserError
from trimtab.files import atomic_write
from trimtab.records.parquet.limits import check_parquet
from trimtab.records.tables import TRACE
from trimtab.traces.arrival_order import ROWS_PER_CHUNK

_AT_LEAST = {"cpu_milli": 1, "gpu_milli": 0, "memory_bytes": 0, "map_tasks": 0, "reduce_tasks": 0}
_NUMBERS = [name for name in TRACE.names if name != "job_class"]
_MEANS = ["work_s", "cpu_milli", "gpu_milli", "memory_bytes"]


def check_trace(
    source: str,
    chunk: pd.DataFrame,
    first_job: int = 0,
    previous_arrival_s: float = 0.0,
) -> None:
    """Check the rows of one chunk of a trace, with the columns of tables.TRACE, and their order.

    `first_job` and `previous_arrival_s` continue the chunks before it. Raises UserError with
    `source`, the row (counted from 0 over the whole trace), the column and the expectation.
    """
    if set(chunk) != set(TRACE.names):
        raise UserError(f"{source}: columns {list(chunk)}, expected {TRACE.names}")

    def refuse(bad: object, column: str, expected: str) -> None:
        rows = np.flatnonzero(np.asarray(bad))
        if rows.size:
            value, row = chunk[column].iloc[rows[0]], first_job + int(rows[0])
            raise UserError(f"{source}: row {row}: {column} is {value}, expected {expected}")

    for column in _NUMBERS:
        if not pd.api.types.is_numeric_dtype(chunk[column]):
            raise UserError(f"{source}: column {column} is {chunk[column].dtype}, expected numbers")
    for column in TRACE.names:
        if column != "work_s":
            refuse(chunk[column].isna(), column, "a value in every row")
    arrival_s = chunk["arrival_s"].to_numpy(np.float64)
    work_s = chunk["work_s"].to_numpy(np.float64)
    of_rounds = chunk["map_tasks"].to_numpy() > 0
    refuse(~np.isfinite(arrival_s) | (arrival_s < 0), "arrival_s", "seconds, 0 or more")
    earlier = np.diff(arrival_s, prepend=previous_arrival_s) < 0
    refuse(earlier, "arrival_s", "at least that of the row before: rows sorted by arrival")
    size = chunk["size"].to_numpy(np.float64)
    refuse(~np.isfinite(size) | (size <= 0), "size", "a number above 0")
    jobs = np.arange(first_job, first_job + len(chunk))
    refuse(chunk["job"].to_numpy() != jobs, "job", "the row's number, counted from 0")
    for column, least in _AT_LEAST.items():
        refuse(chunk[column].to_numpy() < least, column, f"at least {least}")
    bad_work = ~(np.isfinite(work_s) & (work_s >= 0) | np.isnan(work_s) & of_rounds)
    refuse(bad_work, "work_s", "seconds, 0 or more (nothing only for a job of map_tasks)")
    refuse(
        (chunk["reduce_tasks"].to_numpy() > 0) & ~of_rounds,
        "reduce_tasks",
        "0 where map_tasks is 0",
    )


def write_trace(path: Path, chunks: Iterable[pd.DataFrame]) -> int:
    """Write a trace, chunk by chunk, as Parquet at `path`, and return its number of jobs.

    Memory is bounded by the largest chunk; the file is written atomically. Raises UserError for
    rows that `check_trace` refuses, and for a trace without jobs.
    """
    jobs, previous_arrival_s = 0, 0.0
    with (
        atomic_write(path) as temporary,
        pq.ParquetWriter(temporary, TRACE, compression="zstd") as writer,
    ):
        for chunk in chunks:
            if chunk.empty:
                continue
            check_trace(str(path), chunk, jobs, previous_arrival_s)
            writer.write_table(_as_table(path, chunk))
            jobs += len(chunk)
            previous_arrival_s = float(chunk["arrival_s"].iloc[-1])
        if not jobs:
            raise UserError(f"{path}: the trace holds no job, expected at least one")
    return jobs


def read_trace(path: Path, rows_per_chunk: int = ROWS_PER_CHUNK) -> Iterator[pd.DataFrame]:
    """Yield the trace at `path` in checked chunks of at most `rows_per_chunk` rows.

    Memory is bounded by the row groups of the file. Raises UserError when the file is missing,
    is not Parquet, holds other columns than tables.TRACE, or a row that `check_trace` refuses.
    """
    jobs, previous_arrival_s = 0, 0.0
    try:
        check_parquet(path)
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if sorted(names) != sorted(TRACE.names):
                raise UserError(f"{path}: columns {names}, expected {TRACE.names}")
            for batch in file.iter_batches(batch_size=rows_per_chunk):
                chunk = batch.select(TRACE.names).to_pandas()
                check_trace(str(path), chunk, jobs, previous_arrival_s)
                jobs += len(chunk)
                previous_arrival_s = float(chunk["arrival_s"].iloc[-1])
                yield _as_table(path, chunk).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: {error}; expected a trace as Parquet") from None


def _as_table(path: Path, chunk: pd.DataFrame) -> pa.Table:
    """Return the checked `chunk` with the types of tables.TRACE."""
    try:
        return pa.Table.from_pandas(chunk[TRACE.names], TRACE, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UserError(f"{path}: {error}") from None


def class_statistics(path: Path) -> tuple[pd.DataFrame, float]:
    """Return a row for each class of the trace at `path`, by name, and the last arrival in s.

    Columns: `jobs`, `without_work` (jobs that draw their time at their start), and the means of
    work_s, cpu_milli, gpu_milli and memory_bytes. The mean of work_s is over the jobs with a value,
    or NaN. Raises UserError as read_trace.
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
    """Return the number of arrivals of each class in each bin; `edges_s` are its edges in s."""
    found: dict[str, NDArray[np.int64]] = {}
    for frame in read_trace(path):
        for name, times_s in frame.groupby(frame["job_class"].astype(str))["arrival_s"]:
            counts = np.histogram(times_s, edges_s)[0]
            found[str(name)] = found.get(str(name), 0) + counts
    return {name: found[name].tolist() for name in sorted(found)}
