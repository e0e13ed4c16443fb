"""The result of a simulation: tables in memory, or streamed to Parquet files."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trimtab.files import atomic_write
from trimtab.policies.layout import ENDS
from trimtab.records.figures import ClassFigures, TotalFigures
from trimtab.records.summary import Simulator
from trimtab.records.tables import ALLOCATIONS, LOAD, SCHEDULED
from trimtab.simulation.batches import LoadRow

FILES = {"jobs": SCHEDULED, "allocations": ALLOCATIONS, "load": LOAD}


@dataclass(frozen=True)
class Result:
    """A simulation's tables and figures.

    `jobs`, `allocations` and `load` are tables.SCHEDULED, ALLOCATIONS and LOAD; None where they
    were streamed to files, or not requested. `nodes` is tables.NODES. `classes` has those with
    finished jobs; `events` is the number of events; `offered_load` is the largest of
    the resources, None where unknown.
    """

    simulator: Simulator
    events: int
    offered_load: float | None
    classes: Mapping[str, ClassFigures]
    total: TotalFigures
    nodes: pd.DataFrame
    jobs: pd.DataFrame | None = None
    allocations: pd.DataFrame | None = None
    load: pd.DataFrame | None = None


def jobs_table(rows: NDArray[np.void], class_names: Sequence[str]) -> pa.Table:
    """Return layout.FINISHED_ROW as a table of tables.SCHEDULED."""
    return _table(SCHEDULED, rows, {"job_class": (rows["job_class"], class_names)})


def allocations_table(allocations: NDArray[np.void]) -> pa.Table:
    """Return layout.ALLOCATION_ROW as a table of tables.ALLOCATIONS."""
    return _table(ALLOCATIONS, allocations, {"end": (allocations["end"], ENDS)})


def load_table(rows: Sequence[LoadRow]) -> pa.Table:
    """Return samples as a table of tables.LOAD."""
    return pa.Table.from_pylist([dict(zip(LOAD.names, row, strict=True)) for row in rows], LOAD)


def _table(
    schema: pa.Schema, rows: NDArray[np.void], texts: dict[str, tuple[Any, Sequence[str]]]
) -> pa.Table:
    columns = []
    for field in schema:
        if field.name in texts:
            codes, names = texts[field.name]
            columns.append(pa.array(names, pa.string()).take(pa.array(codes)))
        else:
            # A time that never came is NaN in rows and null in tables.
            columns.append(pa.array(rows[field.name], field.type, from_pandas=True))
    return pa.table(columns, schema)


class Frames:
    """Keeps tables in memory."""

    def __init__(self) -> None:
        self._tables: dict[str, list[pa.Table]] = {}

    def add(self, name: str, table: pa.Table) -> None:
        """Append to the table `name`."""
        self._tables.setdefault(name, []).append(table)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the tables by name."""
        return {name: pa.concat_tables(parts).to_pandas() for name, parts in self._tables.items()}


class Files:
    """Streams tables to `folder`/jobs.parquet and so on; they appear when the block succeeds."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder, self._names = folder, names
        self._stack = ExitStack()
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> "Files":
        with ExitStack() as stack:
            for name in self._names:
                temporary = stack.enter_context(atomic_write(self._folder / f"{name}.parquet"))
                writer = pq.ParquetWriter(temporary, FILES[name], compression="zstd")
                self._writers[name] = stack.enter_context(writer)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def add(self, name: str, table: pa.Table) -> None:
        """Append to the file of the table `name`."""
        if table.num_rows:
            self._writers[name].write_table(table)
