"""What dropping tasks costs in accuracy."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.report.figures import Figure, data, specification
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.schedules.charts import class_colour, panel_of, stacked
from trimtab.evaluation.schedules.section import ScheduleSection
from trimtab.records.trace_facts import TraceFacts


class AccuracyLoss(ScheduleSection):
    """Accuracy lost over the drop ratio, where a trace states it."""

    order = 780

    def make_figures(self) -> Iterator[Figure]:
        """The curve of each class, a panel for each trace."""
        traces = [trace for trace in self.charted.traces if trace.accuracy_loss]
        if not traces:
            return
        name = "accuracy_loss"
        losses = ", ".join(
            f"{row.number('accuracy_loss_pct'):g} % at {row.number('drop_ratio_pct'):g} %"
            for row in published(name)
        )
        yield Figure(
            name,
            titled("Accuracy lost by dropping tasks", name),
            "Points of each class's curve, as its trace states them, joined by lines. Published, "
            f"for word popularity: {losses}.",
            specification(stacked(_panel(t, *panel_of(t, self.charted)) for t in traces)),
        )


def _panel(trace: TraceFacts, label: str, classes: list[str]) -> Any:
    values = [
        {"job_class": name, "drop_ratio": ratio, "loss_pct": loss}
        for name, points in trace.accuracy_loss.items()
        for ratio, loss in sorted(points)
    ]
    return (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X("drop_ratio:Q", title="Drop ratio", axis=alt.Axis(format="%")),
            y=alt.Y("loss_pct:Q", title="Accuracy loss, %"),
            color=class_colour(classes),
            tooltip=[
                "job_class:N",
                alt.Tooltip("drop_ratio:Q", format=".0%"),
                alt.Tooltip("loss_pct:Q", format=".2f"),
            ],
        )
        .properties(width=420, height=200, title=label)
    )
