"""What the sections about schedules share."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.chapters import SCHEDULES
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.metrics import numbers
from trimtab.evaluation.report.published import BearsOn, published
from trimtab.evaluation.report.section import Chapter, Section
from trimtab.evaluation.report.tables import Row, Table, is_published, published_row
from trimtab.evaluation.schedules.main_classes import MOST, SAID, with_shown_classes


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

    def published_rows(self, holds: str) -> list[Row]:
        """Return the published rows that hold `holds` and bear on these schedules."""
        bears_on = _bears_on(self.schedules)
        return [published_row(row) for row in published(holds) if row.bears_on in bears_on]


def policy_metrics(table: Table) -> Mapping[str, Any]:
    """Return our numbers by "cluster/trace/policy[/class[/quantity or engine]]/key", flat."""
    found: dict[str, float] = {}
    for row in table.rows:
        if not is_published(row) and "policy" in row:
            parts = [row["cluster"], row["trace"], row["policy"], row.get("job_class")]
            parts.append(row.get("quantity") or row["source"])
            prefix = "/".join(str(part) for part in parts if part)
            found |= {f"{prefix}/{key}": float(value) for key, value in numbers(row).items()}
    return {"schedule": found}


def _bears_on(schedules: Schedules) -> set[BearsOn]:
    """Return what of the schedules is like the published ones.

    Nodes of several types, among which HEATS chooses, and priorities, among which DiAS does.
    """
    kinds: set[BearsOn] = set()
    for cell in schedules.cells:
        if cell.nodes["hardware"].nunique() > 1:
            kinds.add("node_types")
        if len({numbers["priority"] for numbers in cell.classes.values()}) > 1:
            kinds.add("priorities")
    return kinds
