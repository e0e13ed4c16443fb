"""The distribution of reductions over the libraries of each target."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.report.blocks import Beside, Block
from trimtab.evaluation.report.figures import (
    CPU_COLOUR,
    GPU_COLOUR,
    HIGHLIGHT,
    Figure,
    data,
    hover,
    in_order,
    scaled,
    specification,
)
from trimtab.evaluation.report.published import stated, titled
from trimtab.evaluation.report.section import LIBRARIES, TargetSection
from trimtab.evaluation.report.tables import reduction_pct

_KDE_BANDWIDTH_PCT = 5
_HALF_WIDTH = 1.1  # of a violin with its margin
_CPU, _GPU = "CPU", "GPU"
_BESIDE = 2  # targets side by side


class LibraryReductions(TargetSection):
    """The reductions of size and of count, library by library.

    A library without functions has no reduction of CPU code, and one without elements none of GPU
    code; it is left out there.
    """

    order = 600
    chapter = LIBRARIES

    def make_figures(self) -> Iterator[Figure]:
        """Violins of the code's size, and of the number of functions and elements."""
        measurements = self.measurements
        size, count = "reduction_of_code_size", "reduction_of_count"
        medians = {_CPU: stated(size, "cpu_code_median_reduction_pct")}
        in_words = f"about {medians[_CPU]:.0f} % of CPU code"
        lowest = ""
        if measurements.have_gpu_code:
            medians[_GPU] = stated(size, "gpu_code_median_reduction_pct")
            in_words += f", almost {medians[_GPU]:.0f} % of GPU code"
            lowest_pct = stated(count, "elements_lowest_reduction_pct")
            lowest = f" Published: every library lost over {lowest_pct:.0f} % of its elements."
        how = "Each dot is a library, the outline their density, the line their median."
        sizes = {_CPU: "function_bytes_before", _GPU: "gpu_bytes_before"}
        counts = {_CPU: "functions_before", _GPU: "elements_before"}
        yield Figure(
            size,
            titled("Code size, library by library", size),
            f"{how} Dashed: the published medians, {in_words}.",
            _violins(measurements, sizes, "Code size reduction, %", medians),
        )
        yield Figure(
            count,
            titled("Number of functions and elements, library by library", count),
            f"{how} The paper states no median of these.{lowest}",
            _violins(measurements, counts, "Count reduction, %", {}),
        )

    def page(self) -> Iterator[Block]:
        """Yield both side by side, unless they are too wide."""
        if len(self.measurements.targets) <= _BESIDE:
            yield Beside(self.figures)
        else:
            yield from self.figures


def _violins(
    measurements: Measurements,
    columns: dict[str, str],
    title: str,
    published_medians: dict[str, float],
) -> dict[str, Any]:
    """Return a panel per target with a violin for each code; `columns` are of LIBRARIES."""
    centres = {_CPU: 0.0}
    if measurements.have_gpu_code:
        centres = {_CPU: -_HALF_WIDTH, _GPU: _HALF_WIDTH}
    edge = _HALF_WIDTH * len(centres)
    values = [
        {"code": code, "centre": centre, **dot}
        for code, centre in centres.items()
        for dot in _dots(measurements, columns[code])
    ]
    y = alt.Y("reduction_pct:Q", title=title, scale=alt.Scale(domain=[0, 100], clamp=True))
    x = {"scale": alt.Scale(domain=[-edge, edge]), "axis": _axis(centres), "title": None}
    colour = scaled(alt.Color, "code:N", (_CPU, _GPU), (CPU_COLOUR, GPU_COLOUR), legend=None)
    violin = ["target", "code", "centre"]
    # The outline is scaled to its own maximum, as violins are compared by shape.
    outline = (
        alt.Chart()
        .transform_density(
            "reduction_pct",
            groupby=violin,
            as_=["reduction_pct", "density"],
            extent=[0, 100],
            bandwidth=_KDE_BANDWIDTH_PCT,
        )
        .transform_joinaggregate(widest="max(density)", groupby=violin)
        .transform_calculate(
            left="datum.centre - datum.density / datum.widest",
            right="datum.centre + datum.density / datum.widest",
        )
        .mark_area(orient="horizontal", opacity=0.25)
        .encode(y=y, x=alt.X("left:Q", **x), x2="right:Q", color=colour)
    )
    dots = (
        alt.Chart()
        .transform_calculate(place="datum.centre + datum.offset")
        .mark_circle(size=22, opacity=0.55)
        .encode(
            y=y,
            x=alt.X("place:Q", **x),
            color=colour,
            tooltip=hover("library", "code", reduction_pct=".1f"),
        )
    )
    medians = (
        alt.Chart()
        .transform_aggregate(median="median(reduction_pct)", groupby=violin)
        .transform_calculate(left="datum.centre - 1", right="datum.centre + 1")
        .mark_rule(size=2.5)
        .encode(y="median:Q", x=alt.X("left:Q", **x), x2="right:Q", color=colour)
    )
    layers = [outline, dots, medians]
    if published_medians:
        theirs = [
            {"published_pct": median, "left": centres[code] - 1, "right": centres[code] + 1}
            for code, median in published_medians.items()
        ]
        dashed = alt.Chart(data(theirs)).mark_rule(color=HIGHLIGHT, size=2, strokeDash=[6, 4])
        layers.append(dashed.encode(y="published_pct:Q", x=alt.X("left:Q", **x), x2="right:Q"))
    chart = (
        alt.layer(*layers, data=data(values))
        .properties(width=170, height=280)
        .facet(
            facet=alt.Facet(
                "target:N", title=None, sort=in_order(value["target"] for value in values)
            ),
            columns=4,
        )
        .resolve_axis(x="independent")
    )
    return specification(chart)


def _dots(measurements: Measurements, before: str) -> Iterator[dict[str, Any]]:
    for target in measurements.targets:
        frame = target.libraries[target.libraries[before] > 0].reset_index()
        columns = frame[["library", before, before.replace("before", "after")]]
        for place, (library, size, left) in enumerate(columns.itertuples(index=False, name=None)):
            yield {
                "target": target.label,
                "library": library,
                "reduction_pct": reduction_pct(size, left),
                # Dots of equal height would hide each other, so they are spread evenly.
                "offset": ((place * 0.618) % 1 - 0.5) * 0.25,
            }


def _axis(centres: dict[str, float]) -> alt.Axis | None:
    """Return an axis with the names of the violins; None for a single one."""
    if len(centres) == 1:
        return None
    return alt.Axis(
        values=list(centres.values()),
        labelExpr=f"datum.value < 0 ? '{_CPU}' : '{_GPU}'",
        grid=False,
        ticks=False,
        domain=False,
    )
