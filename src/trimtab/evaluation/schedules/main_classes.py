"""Of traces with many classes those with the most jobs: what the page shows of recorded traces."""

from collections.abc import Mapping
from dataclasses import replace

from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.tables import Table
from trimtab.evaluation.schedules.charts import PALETTE
from trimtab.records.trace_facts import TraceFacts

MOST = len(PALETTE) - 1
OTHERS = "other classes"
SAID = f"Of a trace with more than {MOST} classes those with the most jobs"

Shown = Mapping[tuple[str, str], set[str]]


def shown_classes(schedules: Schedules) -> Shown:
    """Return the classes to show of each cluster and trace: those with the most jobs."""
    found = {}
    for setting in schedules.settings:
        jobs: dict[str, float] = {}
        for cell in setting.cells:
            for name, numbers in cell.classes.items():
                jobs[name] = max(jobs.get(name, 0.0), numbers.jobs)
        most = sorted(jobs, key=lambda name: -jobs[name])[:MOST]
        found[setting.cluster, setting.trace] = set(most)
    return found


def with_shown_classes(schedules: Schedules) -> Schedules:
    """Return the schedules for charts: other classes are left out, or one in what arrives."""
    shown = shown_classes(schedules)
    return replace(
        schedules,
        cells=tuple(cell.with_classes(shown[cell.setting]) for cell in schedules.cells),
        traces=tuple(_trace(trace, shown) for trace in schedules.traces),
    )


def without_other_classes(table: Table, schedules: Schedules) -> Table:
    """Return a table with a row for each class for the page; its file has all."""
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
