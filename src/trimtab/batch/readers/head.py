"""The beginning of a file, which tells its format."""

import csv
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import UserError
from trimtab.traces.text_file import open_text

_HEAD_BYTES = 1 << 16
_MOST_COLUMNS = 2048
_SEPARATORS = "|\t;,"
PARQUET = b"PAR1"
EXPECTED = "CSV, `sacct -P`, Standard Workload Format, or `kubectl get pods -o json`"


@dataclass(frozen=True)
class Head:
    """The first 64 KiB of a file, without a byte order mark, decompressed.

    `header` are the fields of its first line, which `separator` separates, without an empty last
    one that the second line lacks.
    """

    content: bytes
    lines: list[str]  # the last may be cut
    header: list[str]
    separator: str


def read_head(path: Path) -> Head:
    """Return the beginning of the file at `path`; UserError if it is empty, or no UTF-8 text."""
    try:
        with open_text(path) as text:
            content = text.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; expected {EXPECTED}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: {error}; expected {EXPECTED}") from None
    if not content.strip():
        raise UserError(f"{path}: is empty; expected {EXPECTED}")
    if content.startswith(PARQUET):
        return Head(content, [], [], ",")
    if b"\0" in content:
        raise UserError(f"{path}: is no text in UTF-8; expected {EXPECTED}")
    lines = re.split(r"\r\n|\n|\r", content.decode("utf-8", errors="replace"))
    separator = max(_SEPARATORS, key=lines[0].count)
    try:
        header, *rows = (next(csv.reader([line], delimiter=separator), []) for line in lines[:2])
    except csv.Error as error:
        raise UserError(f"{path}: first two lines: {error}; expected {EXPECTED}") from None
    if rows and len(rows[0]) == len(header) - 1 and not header[-1].strip():
        header.pop()
    if len(header) > _MOST_COLUMNS:
        raise UserError(f"{path}: {len(header):,} columns, expected at most {_MOST_COLUMNS:,}")
    return Head(content, lines, header, separator)
