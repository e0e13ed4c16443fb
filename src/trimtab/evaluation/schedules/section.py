"""What the sections about schedules share."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from trimtab.evaluation.inputs.schedules import Cell, Schedules
from trimtab.evaluation.report.blocks import Block
from trimtab.evaluation.report.chapters import SCHEDULES
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.metrics import numbers
from trimtab.evaluation.report.published import BearsOn, published
from trimtab.evaluation.report.section import Chapter, Section
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
    is_published,
    published_row,
)
from trimtab.evaluation.schedules.main_classes import (
    MOST,
    SAID,
    with_shown_classes,
    without_other_classes,
)

SIMULATED = "simulated"
POLICY_COLUMNS = (
    Column("name", "Policy"),
    Column("trace", "Trace"),
    Column("cluster", "Cluster", in_report=False),
    Column("policy", "Policy's file", in_report=False),
    HARDWARE_COLUMN,
)


class ScheduleSection(Section):
    """A section about the cells of clusters, traces and policies."""

    chapter: ClassVar[Chapter | None] = SCHEDULES

    @property
    def applies(self) -> bool:
        """Whether any cell was simulated."""
        return bool(self.schedules.cells)

    @property
    def schedules(self) -> Schedules:
        """All cells, with all their classes."""
        return self.measurements.schedules

    @cached_property
    def charted(self) -> Schedules:
        """The cells as charts show them: of many classes those with the most jobs."""
        return with_shown_classes(self.schedules)

    def of_main_classes(self, figure: Figure) -> Figure:
        """Return a figure whose caption says so where it leaves classes out."""
        if all(len(setting.classes) <= MOST for setting in self.schedules.settings):
            return figure
        return replace(figure, caption=f"{figure.caption} {SAID}.")

    def compared(
        self,
        name: str,
        title: str,
        caption: str,
        columns: Iterable[Column],
        rows: Iterable[Row],
        who: Iterable[Column] = POLICY_COLUMNS,
    ) -> Table:
        """Return a table with the published rows of the same `name` that bear on these schedules.

        `columns` are those between `who` and the source.
        """
        bears_on = _bears_on(self.schedules)
        theirs = [published_row(row) for row in published(name) if row.bears_on in bears_on]
        columns = (*who, *columns, *SOURCE_COLUMNS)
        return Table(name, title, caption, columns, (*rows, *theirs))

    def page(self) -> Iterable[Block]:
        """Yield figures, then tables: of many classes those with the most jobs."""
        yield from self.figures
        yield from (without_other_classes(table, self.schedules) for table in self.tables)

    def metrics(self) -> Mapping[str, Any]:
        """Return our numbers by "cluster/trace/policy[/class[/quantity or source]]/key", flat."""
        found: dict[str, float] = {}
        for row in (row for table in self.tables for row in table.rows):
            if not is_published(row) and "policy" in row:
                parts = [row["cluster"], row["trace"], row["policy"], row.get("job_class")]
                parts.append(row.get("quantity") or row["source"])
                prefix = "/".join(str(part) for part in parts if part)
                found |= {f"{prefix}/{key}": float(value) for key, value in numbers(row).items()}
        return {"schedule": found}


def cell_row(cell: Cell) -> dict[str, Value]:
    """Return what a row about a cell begins with."""
    return {
        "name": cell.label,
        "trace": cell.summary.trace,
        "cluster": cell.summary.cluster,
        "policy": cell.summary.policy,
        "hardware": cell.summary.cluster,
    }


def _bears_on(schedules: Schedules) -> set[BearsOn]:
    """Return what of the schedules is like the published ones.

    Nodes of several types, among which HEATS chooses, and priorities, among which DiAS does.
    """
    kinds: set[BearsOn] = set()
    for cell in schedules.cells:
        if cell.nodes["hardware"].nunique() > 1:
            kinds.add("node_types")
        if len({numbers.priority for numbers in cell.classes.values()}) > 1:
            kinds.add("priorities")
    return kinds
