"""A journal of finished rows: a stage that was killed can continue.

It is a file of JSON documents, one a line: first the facts on which all rows depend, then each row
of the table. A line is written at once and synced; an incomplete line, after a kill or a power
failure, is cut off.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from trimtab.files import atomic_write, parse_json, read_limited

_MOST_BYTES = 1 << 30

Row = Mapping[str, Any]
Key = tuple[Any, ...]


class RowJournal:
    """The finished rows of a table in a file; rows under another `head` are ignored.

    The columns `key` identify a row.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, key: Sequence[str], head: Mapping[str, Any]
    ) -> None:
        self._path, self._columns, self._key = path, set(schema.names), key
        first = json.dumps(head, sort_keys=True)
        found = self._read(first)
        if found is None:
            with atomic_write(path) as temporary:
                temporary.write_text(first + "\n")
        self._rows = found or {}

    @property
    def rows(self) -> list[Row]:
        """The finished rows, in their order."""
        return list(self._rows.values())

    def row(self, key: Key) -> Row | None:
        """Return the row with a key, or None if it is not finished."""
        return self._rows.get(key)

    def add(self, row: Row) -> None:
        """Store a finished row."""
        with self._path.open("a") as file:
            file.write(json.dumps(dict(row)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[self._key_of(row)] = dict(row)

    def _key_of(self, row: Row) -> Key:
        return tuple(row[name] for name in self._key)

    def _read(self, first: str) -> dict[Key, Row] | None:
        """Return the rows of a journal with this first line, by key; None for any other file."""
        try:
            lines = read_limited(self._path, _MOST_BYTES).decode().split("\n")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        if lines[0] != first or len(lines) < 2:
            return None
        read = (self._row(line) for line in lines[1:-1])
        rows = {self._key_of(row): row for row in read if row is not None}
        if lines[-1]:
            with self._path.open("r+b") as file:
                file.truncate(self._path.stat().st_size - len(lines[-1].encode()))
        return rows

    def _row(self, line: str) -> Row | None:
        try:
            row = parse_json(line)
        except ValueError:
            return None
        return row if isinstance(row, dict) and set(row) == self._columns else None
