"""The base of the sections about schedules, and the common style of their charts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import altair as alt

from trimtab.evaluation.inputs.schedules import Cell, CellGroup, Schedules
from trimtab.evaluation.report.blocks import Block
from trimtab.evaluation.report.figures import INK, Figure, data, scaled, specification
from trimtab.evaluation.report.published import Applicability, published, titled
from trimtab.evaluation.report.section import SCHEDULES, Chapter, ReportSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
    numbers,
    published_row,
)
from trimtab.records.trace_facts import TraceFacts

SIMULATED = "simulated"
# Okabe and Ito's palette, distinguishable with any kind of colour blindness.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", INK)
# For a recorded trace with many classes, the page shows those with the most jobs.
MOST = len(PALETTE) - 1
OTHERS = "other classes"
SAID = f"Of a trace with more than {MOST} classes those with the most jobs"
Shown = Mapping[tuple[str, str], set[str]]
POLICY_COLUMNS = (
    Column("name", "Policy"),
    Column("trace", "Trace"),
    Column("cluster", "Cluster", in_report=False),
    Column("policy", "Policy's file", in_report=False),
    HARDWARE_COLUMN,
)


def class_colour(classes: Sequence[str]) -> Any:
    """Return the colour of each class, in the order of `classes`."""
    return palette_colour("job_class", classes, "Class")


def palette_colour(field: str, names: Sequence[str], title: str) -> Any:
    """Return the colour of each name of a field, in the order of `names`."""
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(names))]
    legend = alt.Legend(title=title, orient="top", labelLimit=240)
    return scaled(alt.Color, f"{field}:N", names, colours, legend=legend)


def zero_line(axis: str) -> Any:
    """Return the zero line of a difference drawn along `axis` ("x" or "y")."""
    return alt.Chart(data([{"zero": 0}])).mark_rule(color=INK).encode(**{axis: "zero:Q"})


def figure_of(name: str, title: str, caption: str, panels: Iterable[Any]) -> Iterator[Figure]:
    """Yield the figure of `own_figure_of`, with its places in papers in the title."""
    yield from own_figure_of(name, titled(title, name), caption, panels)


def own_figure_of(name: str, title: str, caption: str, panels: Iterable[Any]) -> Iterator[Figure]:
    """Yield the figure of these panels, one below the other; nothing without panels.

    Each panel has its own axes, colours and legends. The figure is in no paper.
    """
    drawn = list(panels)
    if drawn:
        chart = alt.vconcat(*drawn, spacing=28).resolve_scale(
            color="independent",
            shape="independent",
            opacity="independent",
            strokeDash="independent",
            xOffset="independent",
        )
        yield Figure(name, title, caption, specification(chart))


def format_sources(sources: Iterable[str]) -> str:
    """Return "measured", "modelled" or "measured and modelled"."""
    return " and ".join(sorted(set(sources))) or "unknown"


class ScheduleSection(ReportSection):
    """A section about the cells of clusters, traces and policies."""

    stage = "schedule"
    chapter: ClassVar[Chapter | None] = SCHEDULES

    @property
    def schedules(self) -> Schedules:
        """All cells, with all their classes."""
        return self.measurements.schedules

    @cached_property
    def charted(self) -> Schedules:
        """The cells for charts: if classes are many, those with the most jobs."""
        return with_shown_classes(self.schedules)

    def of_main_classes(self, figure: Figure) -> Figure:
        """Return a figure with a note in its caption if it omits classes."""
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
        """Return a table with the published rows of `name` that apply to these schedules.

        `columns` are between `who` and the source.
        """
        bears_on = _bears_on(self.schedules)
        theirs = [published_row(row) for row in published(name) if row.bears_on in bears_on]
        columns = (*who, *columns, *SOURCE_COLUMNS)
        return Table(name, title, caption, columns, (*rows, *theirs))

    def page(self) -> Iterable[Block]:
        """Yield figures, then tables; if classes are many, those with the most jobs."""
        yield from self.figures
        yield from (without_other_classes(table, self.schedules) for table in self.tables)

    def metrics(self) -> Mapping[str, Any]:
        """Return our numbers by "cluster/trace/policy[/class[/quantity or source]]/key", flat."""
        found: dict[str, float] = {}
        for row in (row for table in self.tables for row in table.ours):
            if "policy" in row:
                parts = [row["cluster"], row["trace"], row["policy"], row.get("job_class")]
                parts.append(row.get("quantity") or row["source"])
                prefix = "/".join(str(part) for part in parts if part)
                found |= {f"{prefix}/{key}": float(value) for key, value in numbers(row).items()}
        return {"schedule": found}


def shown_classes(schedules: Schedules) -> Shown:
    """Return the classes to show for each cluster and trace: those with the most jobs."""
    found = {}
    for setting in schedules.settings:
        jobs: dict[str, float] = {}
        for cell in setting.cells:
            for name, figures in cell.classes.items():
                jobs[name] = max(jobs.get(name, 0.0), figures.jobs)
        most = sorted(jobs, key=lambda name: -jobs[name])[:MOST]
        found[setting.cluster, setting.trace] = set(most)
    return found


def with_shown_classes(schedules: Schedules) -> Schedules:
    """Return the schedules for charts: other classes are left out, or merged in arrivals."""
    shown = shown_classes(schedules)
    return replace(
        schedules,
        cells=tuple(cell.with_classes(shown[cell.setting]) for cell in schedules.cells),
        traces=tuple(_trace(trace, shown) for trace in schedules.traces),
    )


def without_other_classes(table: Table, schedules: Schedules) -> Table:
    """Return a table with rows for shown classes only; its file has all."""
    shown = shown_classes(schedules)
    rows = [
        row
        for row in table.rows
        if (setting := (str(row.get("cluster")), str(row.get("trace")))) not in shown
        or row.get("job_class") in (None, *shown[setting])
    ]
    if len(rows) == len(table.rows):
        return table
    return replace(table, rows=tuple(rows), caption=f"{table.caption} {SAID}; the CSV has all.")


def _trace(facts: TraceFacts, shown: Shown) -> TraceFacts:
    by_class = facts.arrivals.classes
    names = shown.get((facts.cluster, facts.trace), by_class.keys())
    arrivals = {name: jobs for name, jobs in by_class.items() if name in names}
    others = [jobs for name, jobs in by_class.items() if name not in names]
    if others:
        arrivals[OTHERS] = [sum(of_bin) for of_bin in zip(*others, strict=True)]
    return facts.model_copy(update={"arrivals": replace(facts.arrivals, classes=arrivals)})


def cell_row(cell: Cell) -> dict[str, Value]:
    """Return the first cells of a row about a cell."""
    return {
        "name": cell.label,
        "trace": cell.summary.trace,
        "cluster": cell.summary.cluster,
        "policy": cell.summary.policy,
        "hardware": cell.summary.cluster,
    }


def format_role(cell: Cell, group: CellGroup) -> str:
    """Return whether a cell is the baseline, and why it has no differences; "" if it has."""
    said = ["the baseline"] if cell.summary.baseline else []
    if not cell.is_stable:
        said.append(f"unstable: {cell.summary.unstable_because}")
    elif group.baseline is None:
        said.append("no baseline")
    elif not group.baseline.is_stable and not said:
        said.append("the baseline is unstable")
    return "; ".join(said)


def _bears_on(schedules: Schedules) -> set[Applicability]:
    """Return in which respects the schedules are comparable with published ones.

    These are nodes of several types, as for HEATS, and several priorities, as for DiAS.
    """
    kinds: set[Applicability] = set()
    for cell in schedules.cells:
        if cell.nodes["hardware"].nunique() > 1:
            kinds.add("node_types")
        if len({numbers.priority for numbers in cell.classes.values()}) > 1:
            kinds.add("priorities")
    return kinds
