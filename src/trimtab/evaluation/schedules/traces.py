"""Facts of a trace, independent of policies: arrivals, left-out jobs, cost of dropped tasks."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.figures import Figure, data, hover, in_order
from trimtab.evaluation.report.published import published
from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.evaluation.schedules.section import ScheduleSection, class_colour, figure_of
from trimtab.records.trace_facts import TraceFacts

_BINS = 400


class AccuracyLoss(ScheduleSection):
    """Loss of accuracy over the drop ratio, if a trace states it."""

    order = 780

    def make_figures(self) -> Iterator[Figure]:
        """The curve of each class, a panel for each trace."""
        losses = ", ".join(
            f"{row.number('accuracy_loss_pct'):g} % at {row.number('drop_ratio_pct'):g} %"
            for row in published("accuracy_loss")
        )
        return figure_of(
            "accuracy_loss",
            "Accuracy lost by dropping tasks",
            "Points of each class's curve, as its trace states them, joined by lines. Published, "
            f"for word popularity: {losses}.",
            (_losses(t, self.charted) for t in self.charted.traces if t.accuracy_loss),
        )


class LeftOutRows(ScheduleSection):
    """Rows of recorded traces that are no jobs of the trace, by reason."""

    order = 785

    def make_tables(self) -> Iterator[Table]:
        """A row for each reason of each trace; no table where nothing was left out."""
        rows = tuple(row for trace in self.schedules.traces for row in _left_out(trace))
        if rows:
            yield Table(
                "left_out",
                "What was left out of recorded traces",
                "Rows of the recorded files that the policies never saw. Share: of these rows and "
                "the jobs of the trace together.",
                (
                    Column("trace", "Trace"),
                    Column("cluster", "Cluster"),
                    Column("reason", "Reason"),
                    Column("rows", "Rows", 0),
                    Column("share_pct", "Share, %", 2),
                ),
                rows,
            )


class ArrivalTimes(ScheduleSection):
    """Arrivals of jobs over time."""

    order = 800

    def make_figures(self) -> Iterator[Figure]:
        """Jobs of each class in bins, a panel for each trace."""
        traces = [t for t in self.charted.traces if any(map(sum, t.arrivals.classes.values()))]
        figures = figure_of(
            "arrivals",
            "Jobs that arrive over time",
            "Jobs of each class that arrive in a bin, stacked. From the trace itself, before "
            "any policy.",
            (_arrivals(trace, self.charted) for trace in traces),
        )
        return map(self.of_main_classes, figures)


def _left_out(trace: TraceFacts) -> Iterator[Row]:
    together = trace.jobs + sum(trace.skipped.values())
    for reason, rows in trace.skipped.items():
        yield {
            "trace": trace.trace,
            "cluster": trace.cluster,
            "reason": reason,
            "rows": rows,
            "share_pct": 100 * rows / together,
        }


def _losses(trace: TraceFacts, schedules: Schedules) -> Any:
    values = [
        {"job_class": name, "drop_ratio": ratio, "loss_pct": loss}
        for name, points in trace.accuracy_loss.items()
        for ratio, loss in sorted(points)
    ]
    label, classes = _panel_of(trace, schedules)
    return (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X("drop_ratio:Q", title="Drop ratio", axis=alt.Axis(format="%")),
            y=alt.Y("loss_pct:Q", title="Accuracy loss, %"),
            color=class_colour(classes),
            tooltip=hover("job_class", drop_ratio=".0%", loss_pct=".2f"),
        )
        .properties(width=420, height=200, title=label)
    )


def arrival_values(trace: TraceFacts) -> list[dict[str, Any]]:
    """Return time_s (a bin's start), job_class and jobs of at most _BINS bins for each class."""
    length = max(map(len, trace.arrivals.classes.values()))
    width = -(-length // _BINS)
    return [
        {
            "time_s": start * trace.arrivals.bin_s,
            "end_s": (start + width) * trace.arrivals.bin_s,
            "job_class": name,
            "jobs": sum(counts[start : start + width]),
        }
        for name, counts in trace.arrivals.classes.items()
        for start in range(0, len(counts), width)
    ]


def _arrivals(trace: TraceFacts, schedules: Schedules) -> Any:
    values = arrival_values(trace)
    bin_s = values[0]["end_s"] - values[0]["time_s"]
    label, classes = _panel_of(trace, schedules)
    return (
        alt.Chart(data(values))
        .mark_bar()
        .encode(
            x=alt.X("time_s:Q", title="Time, s", bin="binned"),
            x2="end_s:Q",
            y=alt.Y("jobs:Q", title=f"Jobs in {bin_s:.3g} s", stack="zero"),
            color=class_colour(classes),
            tooltip=["time_s:Q", "job_class:N", "jobs:Q"],
        )
        .properties(width=760, height=150, title=label)
    )


def _panel_of(trace: TraceFacts, schedules: Schedules) -> tuple[str, list[str]]:
    """Return the trace's label, and its classes in the order of colours."""
    label, classes = trace.trace, list[str]()
    for setting in schedules.settings:
        if (setting.trace, setting.cluster) == (trace.trace, trace.cluster):
            label, classes = setting.label, setting.classes
    return label, in_order([*classes, *trace.arrivals.classes, *trace.accuracy_loss])
