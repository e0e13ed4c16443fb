"""One look for the charts of schedules: a colour for each class, a panel for each setting."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import altair as alt

from trimtab.evaluation.report.figures import INK, Figure, data, scaled, specification
from trimtab.evaluation.report.published import titled

# Okabe and Ito's palette, which people with any kind of colour blindness can tell apart.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", INK)


def class_colour(classes: Sequence[str]) -> Any:
    """Return the colour of each class, in the order of `classes`."""
    return palette_colour("job_class", classes, "Class")


def palette_colour(field: str, names: Sequence[str], title: str) -> Any:
    """Return the colour of each name of a field, in the order of `names`."""
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(names))]
    legend = alt.Legend(title=title, orient="top", labelLimit=240)
    return scaled(alt.Color, f"{field}:N", names, colours, legend=legend)


def zero_line(axis: str) -> Any:
    """Return the line on which a difference, drawn along `axis` ("x" or "y"), is none."""
    return alt.Chart(data([{"zero": 0}])).mark_rule(color=INK).encode(**{axis: "zero:Q"})


def figure_of(name: str, title: str, caption: str, panels: Iterable[Any]) -> Iterator[Figure]:
    """Yield the figure of these panels, one under the other; without any there is none.

    Each panel has axes, colours and legends of its own. The title says where papers show the same.
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
        yield Figure(name, titled(title, name), caption, specification(chart))


def sources_in_words(sources: Iterable[str]) -> str:
    """Return "measured", "modelled" or "measured and modelled"."""
    return " and ".join(sorted(set(sources))) or "unknown"
