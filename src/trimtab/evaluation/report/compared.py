"""Tables in which published rows stand below ours."""

from collections.abc import Iterable, Mapping

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
    published_row,
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
    """Return a table with the rows that papers printed of the same `name`, and where they did.

    `columns` are those between `who` with its hardware and the source.
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
