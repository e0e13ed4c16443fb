"""Sorts jobs by arrival, also beyond the size of memory."""

import math
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_IN_MEMORY = 2_000_000
ROWS_PER_CHUNK = 65_536


def sorted_by_arrival(
    frames: Iterable[pd.DataFrame],
    rows_in_memory: int = ROWS_IN_MEMORY,
    rows_per_chunk: int = ROWS_PER_CHUNK,
) -> Iterator[pd.DataFrame]:
    """Yield the rows of `frames`, of equal columns, by rising `arrival_s`; the sort is stable.

    Up to `rows_in_memory` rows are sorted in memory. Beyond, sorted runs of that size go to
    temporary files (in TMPDIR) and are merged in chunks of `rows_per_chunk`.
    """
    with tempfile.TemporaryDirectory(prefix="trimtab-trace-") as folder:
        runs: list[Path] = []
        for run in _runs(frames, rows_in_memory):
            if len(run) < rows_in_memory and not runs:
                for begin in range(0, len(run), rows_per_chunk):
                    yield run.iloc[begin : begin + rows_per_chunk]
                return
            runs.append(Path(folder) / f"{len(runs)}.parquet")
            table = pa.Table.from_pandas(run, preserve_index=False)
            pq.write_table(table, runs[-1], row_group_size=rows_per_chunk)
        yield from _merge([_chunks(path, rows_per_chunk) for path in runs])


def _runs(frames: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Yield sorted runs of at least `rows` rows, except the last."""
    held: list[pd.DataFrame] = []
    count = 0
    for frame in frames:
        held.append(frame)
        count += len(frame)
        if count >= rows:
            yield _sort(held)
            held, count = [], 0
    if count:
        yield _sort(held)


def _sort(frames: list[pd.DataFrame]) -> pd.DataFrame:
    joined = pd.concat(frames, ignore_index=True)
    frames.clear()
    return joined.sort_values("arrival_s", kind="stable", ignore_index=True)


def _chunks(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=rows):
            yield batch.to_pandas()


def _merge(runs: list[Iterator[pd.DataFrame]]) -> Iterator[pd.DataFrame]:
    """Yield the rows of sorted runs in order; at equal arrivals, an earlier run comes first."""
    heads = [next(run) for run in runs]
    ended = [False] * len(runs)
    safe = -math.inf
    while runs and safe < math.inf:
        # All arrivals before `safe` have been read; at `safe` a run may have more.
        ends = [
            math.inf if over else float(head["arrival_s"].iloc[-1])
            for head, over in zip(heads, ended, strict=True)
        ]
        safe = min(ends)
        cuts = [int(np.searchsorted(head["arrival_s"], safe)) for head in heads]
        ready = pd.concat([head.iloc[:cut] for head, cut in zip(heads, cuts, strict=True)])
        if len(ready):
            yield ready.sort_values("arrival_s", kind="stable", ignore_index=True)
        heads = [head.iloc[cut:] for head, cut in zip(heads, cuts, strict=True)]
        for number, run in enumerate(runs):
            if ends[number] > safe:
                continue
            more = next(run, None)
            ended[number] = more is None
            if more is not None:
                heads[number] = pd.concat([heads[number], more], ignore_index=True)
