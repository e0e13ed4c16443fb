"""A table of the report: values written as CSV and shown in HTML."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Optional, TypeAlias

import pandas as pd

from trimtab.errors import escape_control_characters
from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.changes import NO_CHANGE, is_clear
from trimtab.evaluation.report.published import PublishedRow, published, titled
from trimtab.files import atomic_write

Value: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Value]

MEASURED, MODELLED, PUBLISHED = "measured", "modelled", "published"
MB = 1e6
UNKNOWN = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Column:
    """A column: its key in the CSV, ending in the unit, and its format in the report.

    `decimals` is None for text and truth values. `spread` has the keys of the lowest and highest
    value; the report shows them in the same cell, the CSV in their own columns. A column that is
    not `in_report` is equal in many rows, and mentioned once in the report. The report shows a
    value that `is_difference` as no change where its spread contains zero.
    """

    key: str
    heading: str
    decimals: int | None = None
    spread: tuple[str, str] | None = None
    in_report: bool = True
    is_difference: bool = False

    def shown(self, row: Row) -> str:
        """Return the cell's text for readers: rounded, with separators, a dash if unknown."""
        ends = numbers({key: row.get(key) for key in self.spread or ()})
        if self.is_difference and len(ends) > 1 and not is_clear(*ends.values()):
            return NO_CHANGE
        return shown(row.get(self.key), self.decimals)

    def shown_spread(self, row: Row) -> str:
        """Return `low … high`, or nothing if the row has no spread."""
        if self.spread is None or row.get(self.spread[0]) is None:
            return ""
        return " … ".join(shown(row.get(key), self.decimals) for key in self.spread)


@dataclass(frozen=True)
class Table:
    """Rows under columns; `name` is the stem of the CSV file, `caption` explains it.

    `missing` says why no row is ours, if so. `apart` are published values with other columns: they
    are written beside the file and shown below.
    """

    kind: ClassVar[str] = "table"
    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    missing: str = "Nothing was measured."
    apart: Optional["Table"] = None

    @property
    def ours(self) -> tuple[Row, ...]:
        """The rows that are not published ones."""
        return tuple(row for row in self.rows if not is_published(row))

    @property
    def is_folded(self) -> bool:
        """Whether there are only published values, which the page folds."""
        return not self.ours and bool(self.rows or self.apart)

    @property
    def shown_columns(self) -> tuple[Column, ...]:
        """The columns that the report shows."""
        return tuple(column for column in self.columns if column.in_report)

    @property
    def groups(self) -> dict[str, list[Row]]:
        """The rows by source: "" for ours, else the place of publication."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            place = f"{row['published_in']}; {row['hardware']}" if is_published(row) else ""
            groups.setdefault(place, []).append(row)
        return groups

    def by_row(self, *keys: str) -> dict[str, dict[str, float]]:
        """Return the numbers of our rows, each under its values of `keys` joined by "/"."""
        return {"/".join(str(row[key]) for key in keys): numbers(row) for row in self.ours}

    def write_csv(self, folder: Path) -> Path:
        """Write every column, unrounded, to `folder`/`name`.csv and return its path."""
        if self.apart:
            self.apart.write_csv(folder)
        keys = [key for column in self.columns for key in (column.key, *(column.spread or ()))]
        path = folder / f"{self.name}.csv"
        with atomic_write(path) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(keys)
            writer.writerows([exact(row.get(key)) for key in keys] for row in self.rows)
        return path


def exact(value: Value) -> str:
    """Return a value for the CSV: unrounded, and empty if unknown."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape_control_characters(str(value))


def shown(value: Value, decimals: int | None) -> str:
    """Return a value for the report, numbers with `decimals` digits after the point."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) or decimals is None:
        return str(value)
    if isinstance(value, int):  # a count, or a figure published without decimals
        return f"{value:,}".replace("-", MINUS)
    text = f"{value:z,.{decimals}f}"  # z: no negative zero
    return text.replace("-", MINUS)


def reduction_pct(before: float, after: float) -> float | None:
    """Return the reduction from `before` to `after` in per cent; None where it was 0."""
    return 100.0 * (before - after) / before if before else None


def number(value: float) -> float | None:
    """Return a number of a data frame, None if missing."""
    return None if pd.isna(value) else float(value)


def energy_source(sources: "pd.Series[str]") -> str:
    """Return `measured` only if every joule was; one modelled run makes a figure modelled."""
    return MEASURED if set(sources.dropna()) == {MEASURED} else MODELLED


def numbers(row: Row) -> dict[str, float]:
    """Return the numbers of a row; unknown ones are left out."""
    return {
        key: value
        for key, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def is_published(row: Row) -> bool:
    """Return whether a row is published, not made from this experiment's files."""
    return row.get("source") == PUBLISHED


def published_row(row: PublishedRow) -> Row:
    """Return one published row, with its place in the paper, in the form of ours."""
    return {
        "name": row.row,
        "hardware": row.hardware,
        **row.values,
        "source": PUBLISHED,
        "published_in": f"{row.paper}, {row.place}",
    }


HARDWARE_COLUMN = Column("hardware", "Hardware", in_report=False)
SOURCE_COLUMNS = (
    Column("source", "Source"),
    Column("published_in", "Published in", in_report=False),
)


def compared(
    name: str,
    title: str,
    caption: str,
    columns: Iterable[Column],
    rows: Iterable[Row],
    *,
    who: Iterable[Column] = (Column("name", "Target"),),
    missing: str = Table.missing,
) -> Table:
    """Return a table with the published rows of the same `name`, and their places.

    `columns` are between `who` with its hardware and the source.
    """
    return Table(
        name,
        titled(title, name),
        caption,
        (*who, HARDWARE_COLUMN, *columns, *SOURCE_COLUMNS),
        (*rows, *map(published_row, published(name))),
        missing,
    )


def target_row(target: DebloatedTarget, values: Mapping[str, Value]) -> Row:
    """Return the row of a target in such a table."""
    who = {"name": target.label, "hardware": target.hardware}
    return {**who, **values, "source": MEASURED}
