"""Any table with a header: submission, run time and size of each job, and what else it says.

trimtab.batch.readers.columns knows the names. Cores, GPUs and memory are of the whole job, unless
their name ends in `_per_node` or `_per_task`.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.batch.readers.columns import Column, columns_of, spellings_of
from trimtab.batch.readers.gpu_models import gpu_models
from trimtab.batch.readers.head import Head
from trimtab.batch.readers.jobs import FoundJobs, joined
from trimtab.batch.readers.table_sizes import COUNTS, add_sizes
from trimtab.batch.readers.text_tables import text_columns
from trimtab.batch.readers.values import (
    UnreadableError,
    durations_s,
    in_seconds,
    memory_bytes,
    numbers,
    times_s,
)
from trimtab.errors import UserError

_EXPECTED = "a table with a header: submission, run time and size of each job"
_TIMES = ("submit", "start", "end", "deadline")
_DURATIONS = ("run", "estimate", "wait")
_CHECKPOINTS = ("checkpoint_interval_s", "checkpoint_cost_s", "restart_cost_s")
_TEXTS = ("gpu_type", "run_gpu_type", "user", "group", "queue", "name", "image", "model")
_WIDTHS = ("least_parts", "most_parts")


def read(path: Path, head: Head) -> FoundJobs:
    """Return the jobs of a table separated by commas, tabs, semicolons or bars.

    It needs columns of submission, run time (or start and end) and size: cores, GPUs, processors,
    nodes or tasks. Nodes are different nodes; processors are parts of a core each; a job of cores
    or GPUs alone is on one node, but above eight GPUs on several. Times are numbers of s (or of the
    unit in the column's name; of ms, us or ns since 1970 where that large), ISO 8601, or clocks. A
    deadline is a time, as the submission. A job with a least or a most width in parts is moldable,
    and needs the serial share of Amdahl's law; blank ones are as recorded, and it is not where that
    share is blank.
    Raises UserError with the columns found and expected, or the row, column and value.
    """
    columns = columns_of(head.header)
    _check(path, head, columns)
    found = FoundJobs(joined(path, _frames(path, head, columns)))
    frame = found.frame
    for role in _TIMES:
        if role in frame:
            frame[role] = in_seconds(frame[role].to_numpy())
    _add_times(found)
    with np.errstate(all="ignore"):  # what is absurd is left out later
        add_sizes(frame, columns, found.remarks)
    for role in ("gpu_type", "run_gpu_type"):
        if role in frame:
            frame[role] = gpu_models(frame[role])
    found.frame = frame.drop(columns=[*_TIMES, *_DURATIONS, *COUNTS, "memory"], errors="ignore")
    return found


def _check(path: Path, head: Head, columns: dict[str, Column]) -> None:
    have = columns.keys()
    missing = []
    if not have & {"submit", "start"}:
        missing.append(f"the submission ({spellings_of('submit')})")
    if "run" not in have and not {"start", "end"} <= have and not {"submit", "wait", "end"} <= have:
        missing.append(f"the run time ({spellings_of('run')}), or start and end")
    if not have & set(COUNTS):
        missing.append(f"the size ({spellings_of('cores', 'gpus', 'processors', 'nodes')})")
    if have & set(_WIDTHS) and "serial_share" not in have:
        missing.append("serial_share, from 0 to 1, by which widths change run times (Amdahl's law)")
    if missing:
        names = ", ".join(name.strip()[:40] for name in head.header[:30])
        raise UserError(
            f"{path}: no column of {'; of '.join(missing)}; the first line has: {names[:400]}. "
            "Expected a header, such as: submit_time,run_s,cores"
        )


def _frames(path: Path, head: Head, columns: dict[str, Column]) -> Iterator[pd.DataFrame]:
    """Yield the columns by role, as numbers and text."""
    rows = 0
    wanted = [column.number for column in columns.values()]
    for arrays in text_columns(path, head.header, wanted, head.separator, _EXPECTED):
        values: dict[str, object] = {}
        for (role, column), text in zip(columns.items(), arrays, strict=True):
            try:
                values[role] = _values(role, column, text)
            except UnreadableError as error:
                where = f"row {rows + error.row + 1:,} below the header, column {column.name}"
                raise UserError(f"{path}: {where}: {error}") from None
        rows += len(arrays[0])
        yield pd.DataFrame(values)


def _values(role: str, column: Column, text: pa.Array) -> object:
    if role in _TIMES:
        return times_s(text, column.unit)
    if role in _DURATIONS or role in _CHECKPOINTS:
        return durations_s(text, column.unit)
    if role == "memory":
        return memory_bytes(text, column.unit)
    if role in _TEXTS:
        return pc.utf8_trim_whitespace(text).to_pandas()
    return numbers(text) * column.unit


def _add_times(found: FoundJobs) -> None:
    frame = found.frame
    nothing = pd.Series(np.nan, frame.index)
    submit, run, start, end, wait = (
        frame.get(role, nothing) for role in ("submit", "run", "start", "end", "wait")
    )
    if "submit" not in frame:
        found.remarks.append("no submissions: jobs count as submitted when they started")
        frame["submit_s"] = start
        frame["start_s"] = np.nan
    else:
        frame["submit_s"] = submit
        start = start.fillna(submit + wait)
        frame["start_s"] = start.fillna(end - run)
    frame["run_s"] = run.fillna(end - start)
    if "estimate" in frame:
        frame["estimate_s"] = frame["estimate"]
    if "deadline" in frame:
        frame["deadline_s"] = frame["deadline"]
