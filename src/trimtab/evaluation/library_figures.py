"""Figures 5 and 6 of the paper: how the savings spread over the shared libraries."""

from typing import Any

import altair as alt

from trimtab.evaluation.figures import AFTER, HIGHLIGHT, Figure, data, in_order, specification
from trimtab.evaluation.inputs import Measurements, Target
from trimtab.evaluation.library_tables import by_reduction
from trimtab.evaluation.published import published
from trimtab.evaluation.tables import MB, reduction_pct

_KDE_BANDWIDTH_PCT = 5


def figure_5(measurements: Measurements) -> tuple[Figure, Figure]:
    """Return Figures 5a and 5b: how the reductions spread over the libraries of each target.

    Libraries without a function have no reduction and are left out.
    """
    median = next(
        entry.number("cpu_code_median_reduction_pct")
        for entry in published("statements")
        if "cpu_code_median_reduction_pct" in entry.values
    )
    how = "Each dot is a library, the outline their density, the line their median."
    return (
        Figure(
            "figure_5a",
            "CPU code size, library by library (Figure 5a)",
            f"{how} Dashed: the published median of CPU code, about {median:.0f} %.",
            _violins(measurements, "function_bytes_before", "CPU code size reduction, %", median),
        ),
        Figure(
            "figure_5b",
            "Number of functions, library by library (Figure 5b)",
            f"{how} The paper states no median of the number of CPU functions.",
            _violins(measurements, "functions_before", "Function count reduction, %", None),
        ),
    )


def figure_6(measurements: Measurements) -> Figure:
    """Return Figure 6: a Pareto chart of the file size saved, a panel for each target."""
    text = next(e for e in published("statements") if "libraries_for_90_pct" in e.values)
    panels = [_pareto(target) for target in measurements.targets]
    return Figure(
        "figure_6",
        "Which libraries the savings come from (Figure 6)",
        "Bars: what each library lost in the file system, the largest first; the ranks are those "
        "of the table of libraries. Line: the cumulative share, with 90 % dashed. Published, "
        f"{text.row.removeprefix('Figure 6, ')}: {text.number('libraries_for_90_pct'):.0f} of "
        f"{text.number('libraries'):.0f} libraries account for 90 %.",
        specification(alt.vconcat(*panels, spacing=30)),
    )


def _violins(
    measurements: Measurements, before: str, title: str, median: float | None
) -> dict[str, Any]:
    values = []
    for target in measurements.targets:
        frame = target.libraries[target.libraries[before] > 0].reset_index()
        columns = frame[["library", before, before.replace("before", "after")]]
        for place, (library, size, left) in enumerate(columns.itertuples(index=False, name=None)):
            values.append(
                {
                    "target": target.label,
                    "library": library,
                    "reduction_pct": reduction_pct(size, left),
                    # Dots of equal height would hide each other: spread them evenly by place.
                    "offset": ((place * 0.618) % 1 - 0.5) * 0.25,
                }
            )
    y = alt.Y("reduction_pct:Q", title=title, scale=alt.Scale(domain=[0, 100], clamp=True))
    x = {"scale": alt.Scale(domain=[-1.1, 1.1]), "axis": None}
    # The outline is scaled to its own widest place, as violins are compared by shape.
    outline = (
        alt.Chart()
        .transform_density(
            "reduction_pct",
            groupby=["target"],
            as_=["reduction_pct", "density"],
            extent=[0, 100],
            bandwidth=_KDE_BANDWIDTH_PCT,
        )
        .transform_joinaggregate(widest="max(density)", groupby=["target"])
        .transform_calculate(
            left="-datum.density / datum.widest", right="datum.density / datum.widest"
        )
        .mark_area(orient="horizontal", color=AFTER, opacity=0.25)
        .encode(y=y, x=alt.X("left:Q", title=None, **x), x2="right:Q")
    )
    dots = (
        alt.Chart()
        .mark_circle(color=AFTER, size=22, opacity=0.55)
        .encode(
            y=y,
            x=alt.X("offset:Q", title=None, **x),
            tooltip=["library:N", alt.Tooltip("reduction_pct:Q", format=".1f")],
        )
    )
    ours = alt.Chart().mark_rule(color=AFTER, size=2.5).encode(y="median(reduction_pct):Q")
    layers = [outline, dots, ours]
    if median is not None:
        published_median = alt.Chart().mark_rule(color=HIGHLIGHT, size=2, strokeDash=[6, 4])
        layers.append(published_median.encode(y=alt.datum(median)))
    chart = (
        alt.layer(*layers, data=data(values))
        .properties(width=170, height=280)
        .facet(
            facet=alt.Facet(
                "target:N", title=None, sort=in_order(value["target"] for value in values)
            ),
            columns=4,
        )
    )
    return specification(chart)


def _pareto(target: Target) -> Any:
    values = pareto(target)
    tooltip = [
        "rank:Q",
        "library:N",
        alt.Tooltip("saved_mb:Q", format=",.2f"),
        alt.Tooltip("cumulative_pct:Q", format=".1f"),
    ]
    base = alt.Chart(data(values)).encode(
        x=alt.X(
            "rank:O",
            title="Rank of the library",
            axis=alt.Axis(labelAngle=0, ticks=False, values=_labelled_ranks(len(values))),
        ),
        tooltip=tooltip,
    )
    bars = base.mark_bar(color=AFTER).encode(y=alt.Y("saved_mb:Q", title="Saved, MB"))
    share = alt.Y(
        "cumulative_pct:Q",
        title="Cumulative share, %",
        scale=alt.Scale(domain=[0, 100], clamp=True),
        axis=alt.Axis(orient="right", grid=False),
    )
    line = base.mark_line(color=HIGHLIGHT, point={"size": 18, "color": HIGHLIGHT}).encode(y=share)
    ninety = (
        alt.Chart(data([{"cumulative_pct": 90}]))
        .mark_rule(color=HIGHLIGHT, strokeDash=[4, 4], opacity=0.6)
        .encode(y=share)
    )
    return (
        alt.layer(bars, alt.layer(line, ninety))
        .resolve_scale(y="independent")
        .properties(width=720, height=240, title=target.label)
    )


def _labelled_ranks(count: int) -> list[int]:
    """Return the ranks to print on an axis of `count` libraries: all while they fit, or tens."""
    return [rank for rank in range(1, count + 1) if count <= 30 or rank == 1 or rank % 10 == 0]


def pareto(target: Target) -> list[dict[str, Any]]:
    """Return rank, library, saved_mb and cumulative_pct of each library, most saved first.

    The last library's cumulative share is 100 %; where nothing was saved it is None.
    """
    frame = by_reduction(target.libraries)
    total = float(frame["saved_bytes"].sum())
    cumulative = frame["saved_bytes"].cumsum()
    return [
        {
            "rank": rank,
            "library": library,
            "saved_mb": saved / MB,
            "cumulative_pct": 100.0 * sum_so_far / total if total else None,
        }
        for rank, (library, saved, sum_so_far) in enumerate(
            zip(frame["library"], frame["saved_bytes"], cumulative, strict=True), start=1
        )
    ]
