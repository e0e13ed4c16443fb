"""Figures 3.3, 3.4 and 4.5 of Rocha's thesis: what nodes can do, what arrives, what drops cost."""

from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import Probe, Schedules
from trimtab.evaluation.report.figures import Figure, data, in_order, specification
from trimtab.evaluation.schedules.charts import (
    PALETTE,
    class_colour,
    sources_in_words,
    stacked,
    statement,
)
from trimtab.records.trace_facts import TraceFacts

_BINS = 400


def trace_figures(schedules: Schedules) -> list[Figure]:
    """Return Figures 3.3, 3.4 and 4.5, as far as there are data."""
    figures = []
    if schedules.probes:
        figures.append(_probing(schedules.probes))
    arriving = [
        trace for trace in schedules.traces if any(map(sum, trace.arrivals.classes.values()))
    ]
    if arriving:
        figures.append(
            Figure(
                "figure_3_4",
                "Jobs that arrive over time (Figure 3.4)",
                "Jobs of each class that arrive in a bin, stacked. From the trace itself, before "
                "any policy.",
                specification(stacked(_arrivals(t, _setting(schedules, t)) for t in arriving)),
            )
        )
    losing = [trace for trace in schedules.traces if trace.accuracy_loss]
    if losing:
        figures.append(_accuracy([(trace, _setting(schedules, trace)) for trace in losing]))
    return figures


def _setting(schedules: Schedules, trace: TraceFacts) -> tuple[str, list[str]]:
    """Return the trace's label, and its classes in the order that gives them their colours."""
    label, known = trace.trace, list[str]()
    for setting in schedules.settings:
        if (setting.trace, setting.cluster) == (trace.trace, trace.cluster):
            label, known = setting.label, setting.classes
    return label, in_order([*known, *trace.arrivals.classes, *trace.accuracy_loss])


def most_work(probes: tuple[Probe, ...]) -> list[Probe]:
    """Return, for each task, the probes with the most work, which every type of node did."""
    by_type: dict[str, dict[str, set[float]]] = {}
    for probe in probes:
        by_type.setdefault(probe.task, {}).setdefault(probe.node_type, set()).add(probe.work)
    most = {
        task: max(set.intersection(*works.values()), default=None)
        for task, works in by_type.items()
    }
    return [probe for probe in probes if most[probe.task] in (probe.work, None)]


def _probing(probes: tuple[Probe, ...]) -> Figure:
    shown = most_work(probes)
    node_types = in_order(probe.node_type for probe in shown)
    values = [
        {"node_type": p.node_type, "task": p.task, "governor": p.governor, "cores": p.cores}
        | {"work": p.work, "quantity": quantity, "value": value, "source": p.source}
        for p in shown
        for quantity, value in (("Run time, s", p.wall_s), ("Energy, J", p.energy_j))
        if value is not None
    ]
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(node_types))]
    chart = (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X("cores:Q", title="Cores", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=True)),
            color=alt.Color(
                "node_type:N",
                scale=alt.Scale(domain=node_types, range=colours),
                legend=alt.Legend(title="Type of node", orient="top", labelLimit=240),
            ),
            strokeDash=alt.StrokeDash(
                "governor:N",
                sort=in_order(probe.governor for probe in shown),
                legend=alt.Legend(title="Governor or frequency level", orient="top"),
            ),
            tooltip=[
                *("node_type:N", "task:N", "governor:N"),
                *("cores:Q", "work:Q", "value:Q", "source:N"),
            ],
        )
        .properties(width=330, height=180)
        .facet(
            row=alt.Row("task:N", sort=in_order(p.task for p in shown), title=None),
            column=alt.Column("quantity:N", sort=["Run time, s", "Energy, J"], title=None),
        )
        .resolve_scale(y="independent")
    )
    sources = sources_in_words(probe.source for probe in shown)
    return Figure(
        "figure_3_3",
        "Run time and energy of the probing tasks (Figure 3.3)",
        "The most work of each task that every type of node did. The energy is the task's own, "
        f"without the idle power. Energy is {sources}, as a point's tooltip says; times are "
        "measured.",
        specification(chart),
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


def _arrivals(trace: TraceFacts, setting: tuple[str, list[str]]) -> Any:
    label, classes = setting
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


def _accuracy(traces: list[tuple[TraceFacts, tuple[str, list[str]]]]) -> Figure:
    panels = []
    for trace, (label, classes) in traces:
        values = [
            {"job_class": name, "drop_ratio": ratio, "loss_pct": loss}
            for name, points in trace.accuracy_loss.items()
            for ratio, loss in sorted(points)
        ]
        panels.append(
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
    texts = [statement(f"Figure 4.5, word popularity, {ratio} %") for ratio in (10, 20, 40)]
    published = ", ".join(
        f"{text.number('accuracy_loss_pct'):g} % at {text.number('drop_ratio_pct'):g} %"
        for text in texts
    )
    return Figure(
        "figure_4_5",
        "Accuracy lost by dropping tasks (Figure 4.5)",
        "Points of each class's curve, as its trace states them, joined by lines. Published, for "
        f"word popularity: {published}.",
        specification(stacked(panels)),
    )
