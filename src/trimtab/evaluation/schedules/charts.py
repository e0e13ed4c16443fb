"""One look for the charts of schedules: a colour for each class, a panel for each setting."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.figures import INK, in_order
from trimtab.records.trace_facts import TraceFacts

# Okabe and Ito's palette, which people with any kind of colour blindness can tell apart.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", INK)


def class_colour(classes: Sequence[str]) -> Any:
    """Return the colour of each class, in the order of `classes`."""
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(classes))]
    return alt.Color(
        "job_class:N",
        scale=alt.Scale(domain=list(classes), range=colours),
        legend=alt.Legend(title="Class", orient="top", labelLimit=240),
    )


def stacked(panels: Iterable[Any]) -> Any:
    """Return panels one under the other, each with axes, colours and legends of its own."""
    return alt.vconcat(*panels, spacing=28).resolve_scale(
        color="independent",
        shape="independent",
        opacity="independent",
        strokeDash="independent",
        xOffset="independent",
    )


def panel_of(trace: TraceFacts, schedules: Schedules) -> tuple[str, list[str]]:
    """Return the trace's label, and its classes in the order that gives them their colours."""
    label, classes = trace.trace, list[str]()
    for setting in schedules.settings:
        if (setting.trace, setting.cluster) == (trace.trace, trace.cluster):
            label, classes = setting.label, setting.classes
    return label, in_order([*classes, *trace.arrivals.classes, *trace.accuracy_loss])


def sources_in_words(sources: Iterable[str]) -> str:
    """Return "measured", "modelled" or "measured and modelled"."""
    return " and ".join(sorted(set(sources))) or "unknown"
