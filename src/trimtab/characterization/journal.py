"""The runs that are finished, kept as they finish: a characterization that was killed goes on.

A file of JSON documents, one a line: what the runs belong to, then each run's row as it is in
CHARACTERIZATION_RUNS. A line is written at once and synced; half a line, of a program that was
killed or a machine that lost its power, is cut off.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.characterization.plan import Key, Run, key_of
from trimtab.config.stages import CharacterizeStage, dump
from trimtab.files import parse_json, read_limited, whole_file
from trimtab.records.tables import CHARACTERIZATION_RUNS

_MOST_BYTES = 1 << 30
_OF_NO_RUN = ("name", "workloads", "platform", "hyperparameters", "repeats", "joint_settings")


class Journal:
    """The rows of finished runs in a file; rows of another engine or other data are passed over."""

    def __init__(self, path: Path, stage: CharacterizeStage) -> None:
        self._path = path
        head = json.dumps({"runs_of": _same_for_all_runs(stage)}, sort_keys=True)
        self._rows = _read(path, head)
        if self._rows is None:
            self._rows = {}
            with whole_file(path) as temporary:
                temporary.write_text(head + "\n")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all finished runs, in their order."""
        return list((self._rows or {}).values())

    def has(self, run: Run) -> bool:
        """Return whether a run is finished, well or not."""
        return run.key in (self._rows or {})

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep the row of a run that has just finished."""
        assert self._rows is not None
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[key_of(row)] = dict(row)


def _same_for_all_runs(stage: CharacterizeStage) -> Any:
    """Return what a run depends on besides its own workload and settings."""
    asked = json.loads(dump(stage))
    for name in _OF_NO_RUN:
        del asked["characterization"][name]
    places = [[each["data"], each["location"], each["format"]] for each in asked.pop("workloads")]
    asked["data"] = sorted(each for each in places if each[1] is not None)
    return asked


def _read(path: Path, head: str) -> dict[Key, dict[str, Any]] | None:
    """Return the rows of a journal with this head by key; None for none, or another's."""
    try:
        lines = read_limited(path, _MOST_BYTES).decode().split("\n")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    if lines[0] != head or len(lines) < 2:
        return None
    rows = {}
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
    names = CHARACTERIZATION_RUNS.names
    return row if isinstance(row, dict) and set(row) == set(names) else None
