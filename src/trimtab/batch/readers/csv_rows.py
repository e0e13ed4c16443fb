"""A CSV file with a header, as a person writes it: rows of text with their places."""

import csv
import io
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from trimtab.errors import TrimtabError, UserError
from trimtab.files import read_limited

_MOST_BYTES = 1 << 26


class TextRow(NamedTuple):
    """A row: its place, such as `images.csv:2`, and its texts by column, empty where it ends."""

    place: str
    texts: dict[str, str]

    def number(self, column: str) -> float | None:
        """Return a number from 0, or None if it is empty; UserError names place and column."""
        text = self.texts.get(column, "")
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number < 1e15:
            raise UserError(
                f"{self.place}: {column}: {text[:60]!r}, expected a number from 0, or nothing"
            )
        return number


def read_rows(
    path: Path, columns: Collection[str] | None, needed: Collection[str], expected: str
) -> list[TextRow]:
    """Return the rows of a CSV file; it has the columns `needed`, and others of `columns`, or any.

    Raises UserError with the file, the line, and what was `expected`.
    """
    try:
        text = read_limited(path, _MOST_BYTES).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
        rows = [(reader.line_num, row) for row in reader]
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {expected}") from None
    except (TrimtabError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: {error}; {expected}") from None
    have = [name.strip() for name in reader.fieldnames or []]
    if missing := [name for name in needed if name not in have]:
        raise UserError(f"{path}: no column {', '.join(missing)}; {expected}")
    if columns is not None and (unknown := [name for name in have if name not in columns]):
        raise UserError(f"{path}: unknown column {unknown[0][:60]!r}; {expected}")
    if len(set(have)) < len(have):
        raise UserError(f"{path}: a column twice; {expected}")
    found = []
    for line, row in rows:
        if None in row:
            raise UserError(f"{path}:{line}: more fields than the header; {expected}")
        texts = {name.strip(): (value or "").strip() for name, value in row.items()}
        found.append(TextRow(f"{path}:{line}", texts))
    return found
