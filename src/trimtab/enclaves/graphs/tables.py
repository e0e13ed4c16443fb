"""A task graph as two tables in a folder: `tasks.parquet` and `dependences.parquet`."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.enclaves.graphs.builder import successors_of
from trimtab.enclaves.graphs.graph import MOST_DEVICES, MOST_EDGES, MOST_TASKS, TaskGraph
from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import DEPENDENCES, TASKS

_TASKS, _DEPENDENCES = "tasks.parquet", "dependences.parquet"


def write_graph(folder: Path, graph: TaskGraph) -> None:
    """Write both tables into `folder`, which is there."""
    targets = [
        "+".join(name for at, name in enumerate(graph.devices) if bits >> at & 1)
        for bits in range(int(graph.target.max(initial=0)) + 1)
    ]
    frame = pd.DataFrame(
        {
            "task_number": np.arange(len(graph)),
            "task_kind": np.array(graph.kinds, object)[graph.kind],
            "task_work_s": graph.work_s,
            "task_bytes_in": graph.bytes_in,
            "task_bytes_out": graph.bytes_out,
            "working_set_bytes": graph.working_set_bytes,
            "secure": graph.secure,
            "target": np.array(targets, object)[graph.target],
        }
    )
    write_table(folder / _TASKS, TASKS, frame)
    source = np.repeat(np.arange(len(graph)), np.diff(graph.first_successor))
    edges = pd.DataFrame({"task_number": source, "successor": graph.successors})
    write_table(folder / _DEPENDENCES, DEPENDENCES, edges)


def read_graph(folder: Path) -> TaskGraph:
    """Return the graph whose tables are in `folder`.

    Raises UserError where one is missing, and TrimtabError, which names the file, and the row and
    the key where one value is wrong, for what is no task graph: other columns, numbers of tasks
    that are not there, costs below 0, a circle, more than a graph holds.
    """
    path = folder / _TASKS
    tasks = read_table(path, TASKS)
    if len(tasks) > MOST_TASKS:
        raise TrimtabError(f"{path}: {len(tasks):,} rows, expected at most {MOST_TASKS:,}")
    misplaced = np.flatnonzero(tasks["task_number"].to_numpy() != np.arange(len(tasks)))
    if misplaced.size:
        row = int(misplaced[0])
        given = tasks["task_number"].iloc[row]
        raise TrimtabError(f"{path}: row {row}: task_number: {given}, expected {row}")
    kind, kinds = pd.factorize(tasks["task_kind"])
    devices, target = _targets(path, tasks["target"])
    first, successors = _edges(folder / _DEPENDENCES, len(tasks))
    try:
        return TaskGraph(
            tuple(map(str, kinds)),
            devices,
            kind.astype(np.int64),
            tasks["task_work_s"].to_numpy(np.float64),
            tasks["task_bytes_in"].to_numpy(np.int64),
            tasks["task_bytes_out"].to_numpy(np.int64),
            tasks["working_set_bytes"].to_numpy(np.int64),
            tasks["secure"].to_numpy(np.bool_),
            target,
            first,
            successors,
        )
    except UserError as error:
        raise TrimtabError(f"{folder}: {error}") from None


def _targets(path: Path, column: pd.Series) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the devices that are named, and of each row the bits of its own."""
    code, texts = pd.factorize(column)
    bits_of: dict[str, int] = {}
    masks = []
    for number, text in enumerate(map(str, texts)):
        mask = 0
        for name in text.split("+"):
            bit = bits_of.setdefault(name, len(bits_of))
            if not name.isidentifier() or bit >= MOST_DEVICES:
                row = int(np.argmax(code == number))
                expected = f"kinds of device, at most {MOST_DEVICES} in all, joined by +"
                raise TrimtabError(f"{path}: row {row}: target: {text[:80]!r}, expected {expected}")
            mask |= 1 << bit
        masks.append(mask)
    devices = tuple(bits_of) or ("cpu",)
    return devices, np.array(masks, np.int64)[code] if masks else np.zeros(0, np.int64)


def _edges(path: Path, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    edges = read_table(path, DEPENDENCES)
    if len(edges) > MOST_EDGES:
        raise TrimtabError(f"{path}: {len(edges):,} rows, expected at most {MOST_EDGES:,}")
    for name in DEPENDENCES.names:
        numbers = edges[name].to_numpy(np.int64)
        dangling = np.flatnonzero((numbers < 0) | (numbers >= count))
        if dangling.size:
            row = int(dangling[0])
            there = f"there are {count} tasks, numbered from 0"
            raise TrimtabError(f"{path}: row {row}: {name}: {numbers[row]}; {there}")
    return successors_of(
        count, edges["task_number"].to_numpy(np.int64), edges["successor"].to_numpy(np.int64)
    )
