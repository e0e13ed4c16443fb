"""The graph that a native task program records of its run: one line of JSON per task."""

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

from trimtab.errors import TrimtabError, UserError
from trimtab.files import open_regular
from trimtab.secure_tasks.graphs.builder import BARRIER, GraphBuilder
from trimtab.secure_tasks.graphs.graph import MOST_BYTES, MOST_TASKS, MOST_WORK_S, TaskGraph

_MOST_LINE_BYTES = 1 << 24  # a barrier names all tasks before it
_MOST_PREDECESSORS = 1 << 26  # sum over all tasks
_KEYS = {"task", "kind", "run_s", "bytes_in", "bytes_out", "predecessors"}


def read_recorded(
    path: Path, *, secure_kinds: Collection[str] | None = None, target: Collection[str] = ("cpu",)
) -> TaskGraph:
    """Return the graph in a file written by a program of `native/secure_tasks`.

    The record does not say where tasks ran: tasks of `secure_kinds`, by default all, are secure,
    and all may run on `target`. Barriers are not secure and run anywhere. Raises UserError without
    a file, and TrimtabError with file, line and key for an invalid one.
    """
    graph = GraphBuilder()
    edges = 0
    try:
        with open_regular(path) as file:
            while line := file.readline(_MOST_LINE_BYTES):
                number = len(graph)
                try:
                    if number >= MOST_TASKS:
                        raise ValueError(f"more than {MOST_TASKS:,} tasks")
                    row = _row(line, number)
                except (ValueError, RecursionError) as error:
                    what = f"line {number + 1}: {error}"
                    raise TrimtabError(f"{path}, {what}; record the run again") from None
                edges += len(row["predecessors"])
                if edges > _MOST_PREDECESSORS:
                    raise TrimtabError(f"{path}: more than {_MOST_PREDECESSORS:,} predecessors")
                barrier = row["kind"] == BARRIER
                secure = not barrier and (secure_kinds is None or row["kind"] in secure_kinds)
                graph.add(
                    row["kind"],
                    row["run_s"],
                    after=row["predecessors"],
                    bytes_in=row["bytes_in"],
                    bytes_out=row["bytes_out"],
                    secure=secure,
                    target=() if barrier else target,
                )
    except FileNotFoundError:
        raise UserError(f"{path}: missing; run the program with --record first") from None
    return graph.graph()


def _row(line: bytes, number: int) -> dict[str, Any]:
    """Return a line as a mapping of checked values; raises ValueError."""
    if not line.endswith(b"\n"):
        raise ValueError(f"longer than {_MOST_LINE_BYTES:,} bytes, or cut off")
    try:
        row = json.loads(line)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(row, dict) or set(row) != _KEYS:
        raise ValueError(f"expected an object with the keys {', '.join(sorted(_KEYS))}")
    if row["task"] != number or isinstance(row["task"], bool):
        raise ValueError(f"task: expected {number}")
    if not isinstance(row["kind"], str) or not row["kind"].isidentifier() or len(row["kind"]) > 64:
        raise ValueError("kind: expected the name of a function")
    run_s = row["run_s"]
    if not isinstance(run_s, float | int) or isinstance(run_s, bool) or not _is_time(run_s):
        raise ValueError(f"run_s: expected seconds, 0 to {MOST_WORK_S:g}")
    for key in ("bytes_in", "bytes_out"):
        if type(row[key]) is not int or not 0 <= row[key] <= MOST_BYTES // 2:
            raise ValueError(f"{key}: expected a whole number, 0 to {MOST_BYTES // 2}")
    before = row["predecessors"]
    if not isinstance(before, list) or not all(
        type(at) is int and 0 <= at < number for at in before
    ):
        raise ValueError("predecessors: expected numbers of tasks in earlier lines")
    return row


def _is_time(value: float) -> bool:
    return not math.isnan(value) and 0 <= value <= MOST_WORK_S
