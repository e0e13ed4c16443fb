"""The runs that are finished, kept as they finish: a stage that was killed goes on.

A file of JSON documents, one a line: what all runs depend on, then each run's row as it is in
PROTECTED_RUNS. A line is written at once and synced; half a line is cut off.
"""

import json
import os
from pathlib import Path
from typing import Any

from trimtab.config.stages import ProtectStage, dump
from trimtab.files import parse_json, read_limited, whole_file
from trimtab.protection.plan import Key, Row, SetUp, key_of
from trimtab.records.tables import PROTECTED_RUNS

_MOST_BYTES = 1 << 28


class Journal:
    """The rows of finished runs in a file; those of another machine or program are passed over."""

    def __init__(self, path: Path, stage: ProtectStage, program: str) -> None:
        self._path = path
        head = json.dumps({"runs_of": _same_for_all_runs(stage), "program": program})
        found = _read(path, head)
        if found is None:
            with whole_file(path) as temporary:
                temporary.write_text(head + "\n")
        self._rows: dict[Key, Row] = found or {}

    def row(self, set_up: SetUp, repeat: int) -> Row | None:
        """Return the row of a run, or None where it is not finished."""
        return self._rows.get(set_up.key(repeat))

    def add(self, row: Row) -> None:
        """Keep the row of a run that has just finished."""
        with self._path.open("a") as file:
            file.write(json.dumps(dict(row)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[key_of(row)] = row


def _same_for_all_runs(stage: ProtectStage) -> dict[str, Any]:
    """Return what a run depends on besides its own set-up."""
    asked = json.loads(dump(stage))
    return {
        "program": asked["program"]["name"],
        "hardware": asked["hardware"],
        "enclaves": asked["enclaves"],
    }


def _read(path: Path, head: str) -> dict[Key, Row] | None:
    """Return the rows of a journal with this head by key; None for none, or another's."""
    try:
        lines = read_limited(path, _MOST_BYTES).decode().split("\n")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    if lines[0] != head or len(lines) < 2:
        return None
    rows: dict[Key, Row] = {}
    for line in lines[1:-1]:
        row = _row(line)
        if row is not None:
            rows[key_of(row)] = row
    if lines[-1]:
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - len(lines[-1].encode()))
    return rows


def _row(line: str) -> dict[str, Any] | None:
    try:
        row = parse_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and set(row) == set(PROTECTED_RUNS.names) else None
