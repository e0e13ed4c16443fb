"""Google's cluster traces of 2019 (clusterdata-2019, "Borg"): the table instance_events.

https://github.com/google/cluster-data/blob/master/clusterdata_trace_format_v3.proto, message
InstanceEvent. Used here, by field number: 1 time (us), 2 type (0 submit, 1 queue, 2 enable,
3 schedule, 4 evict, 5 fail, 6 finish, 7 kill, 8 lost, 9 and 10 update), 3 collection_id,
6 collection_type (0 job, 1 alloc set), 7 priority (0 to 450), 9 instance_index, 12
resource_request (1 cpus, 2 memory, relative to the largest machine). The table lives in BigQuery:
export it as newline-delimited JSON or as Parquet, or select the fields above into CSV (there
resource_request.cpus and .memory, or just cpus and memory). The table collection_events has no
demands, and nothing about an instance that instance_events lacks.
"""

import io
import itertools
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trimtab.errors import UserError
from trimtab.files import parse_json
from trimtab.records.parquet.limits import check_parquet
from trimtab.traces.arrival_order import ROWS_PER_CHUNK
from trimtab.traces.formats.csv_table import csv_header, read_csv
from trimtab.traces.formats.task_events import TaskEvent, finished_tasks, whole_events
from trimtab.traces.text_file import open_text

_EXPECTED = "instance_events of Google's cluster traces of 2019, as .json, .csv or .parquet"
_REQUEST = "resource_request."
_WHOLE = ["time", "type", "collection_id", "collection_type", "priority", "instance_index"]
_NAMES = [*_WHOLE, "cpus", "memory"]
_RENAMED = {"time": "time_us", "collection_id": "collection", "instance_index": "index"}
_EVENTS = np.full(11, TaskEvent.OTHER)
_EVENTS[[0, 3, 4, 6]] = TaskEvent.SUBMIT, TaskEvent.SCHEDULE, TaskEvent.EVICT, TaskEvent.FINISH
_EVENTS[[5, 7, 8]] = TaskEvent.END


def read(
    paths: Sequence[Path],
    skipped: Counter[str],
    machine_cpu_milli: int,
    machine_memory_bytes: int,
) -> Iterator[pd.DataFrame]:
    """Yield the finished tasks of instance_events files.

    `paths` end in .json, .csv (either also .gz) or .parquet, and are read in the order of their
    names; events have to be sorted by time over all of them. Demands are relative to the largest
    machine. The trace hides its size, so `machine_cpu_milli` and `machine_memory_bytes` set it.
    Reservations (alloc sets) are left out. Skipped tasks are counted by reason; see finished_tasks.
    Raises UserError with the file, missing columns, or the line.
    """
    frames = (
        (path, frame.rename(columns=_RENAMED)) for path in sorted(paths) for frame in _frames(path)
    )

    def events() -> Iterator[pd.DataFrame]:
        for frame in whole_events(frames, _EVENTS, skipped):
            task = frame["collection_type"] == 0
            skipped["reservation"] += int((~task & (frame["event"] == TaskEvent.SUBMIT)).sum())
            yield frame[task]

    return finished_tasks(events(), machine_cpu_milli, machine_memory_bytes, skipped)


def _frames(path: Path) -> Iterator[pd.DataFrame]:
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
    if suffix == ".json":
        return _from_json(path)
    if suffix == ".csv":
        return _from_csv(path)
    if suffix == ".parquet":
        return _from_parquet(path)
    raise UserError(f"{path}: ends in {suffix or 'nothing'}; expected {_EXPECTED}")


def _from_csv(path: Path) -> Iterator[pd.DataFrame]:
    prefix = _REQUEST if f"{_REQUEST}cpus" in csv_header(path, _EXPECTED) else ""
    requests = {f"{prefix}cpus": pa.float64(), f"{prefix}memory": pa.float64()}
    for frame in read_csv(path, dict.fromkeys(_WHOLE, pa.int64()) | requests, _EXPECTED):
        yield frame.rename(columns=lambda name: name.removeprefix(_REQUEST))


def _from_parquet(path: Path) -> Iterator[pd.DataFrame]:
    wanted = [*_WHOLE, f"{_REQUEST}cpus", f"{_REQUEST}memory"]
    try:
        check_parquet(path, wanted)
        with pq.ParquetFile(path) as file:
            present = [column.path for column in map(file.schema.column, range(len(file.schema)))]
            if missing := [name for name in wanted if name not in present]:
                raise UserError(f"{path}: no column {', '.join(missing)}; expected {_EXPECTED}")
            for batch in file.iter_batches(ROWS_PER_CHUNK, columns=wanted):
                frame = pa.Table.from_batches([batch]).flatten().to_pandas()
                yield frame.rename(columns=lambda name: name.removeprefix(_REQUEST))
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: {error}; expected {_EXPECTED}") from None


def _from_json(path: Path) -> Iterator[pd.DataFrame]:
    try:
        with io.TextIOWrapper(open_text(path), encoding="utf-8") as file:
            lines = enumerate(file, start=1)
            while block := list(itertools.islice(lines, ROWS_PER_CHUNK)):
                rows = [_row(path, *line) for line in block if line[1].strip()]
                yield pd.DataFrame(rows, columns=_NAMES, dtype=np.float64)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UserError(f"{path}: {error}; expected {_EXPECTED}") from None


def _row(path: Path, number: int, line: str) -> list[float]:
    """Return the values of _NAMES; NaN where missing. Exports quote 64-bit integers."""
    try:
        event: dict[str, Any] = parse_json(line)
        values = event | (event.get("resource_request") or {})
        return [float("nan" if values.get(name) is None else values[name]) for name in _NAMES]
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise UserError(f"{path}:{number}: {error}; expected {_EXPECTED}") from None
