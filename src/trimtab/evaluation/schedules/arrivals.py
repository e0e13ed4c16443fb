"""When the jobs of a trace arrive."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.report.figures import Figure, data, specification
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.schedules.charts import class_colour, panel_of, stacked
from trimtab.evaluation.schedules.section import ScheduleSection
from trimtab.records.trace_facts import TraceFacts

_BINS = 400


class Arrivals(ScheduleSection):
    """Jobs that arrive over time, where any do."""

    order = 800

    def make_figures(self) -> Iterator[Figure]:
        """Jobs of each class in bins, a panel for each trace."""
        traces = [t for t in self.charted.traces if any(map(sum, t.arrivals.classes.values()))]
        if not traces:
            return
        figure = Figure(
            "arrivals",
            titled("Jobs that arrive over time", "arrivals"),
            "Jobs of each class that arrive in a bin, stacked. From the trace itself, before "
            "any policy.",
            specification(stacked(_arrivals(t, *panel_of(t, self.charted)) for t in traces)),
        )
        yield self.of_main_classes(figure)


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


def _arrivals(trace: TraceFacts, label: str, classes: list[str]) -> Any:
    values = arrival_values(trace)
    bin_s = values[0]["end_s"] - values[0]["time_s"]
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
