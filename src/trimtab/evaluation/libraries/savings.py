"""Which shared libraries the savings come from: a Pareto chart."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.libraries.by_library import by_reduction
from trimtab.evaluation.report.figures import AFTER, HIGHLIGHT, Figure, data, specification
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.report.section import LIBRARIES, TargetSection
from trimtab.evaluation.report.tables import MB


class Savings(TargetSection):
    """The file size saved by each library, a panel for each target."""

    order = 610
    chapter = LIBRARIES

    def make_figures(self) -> Iterator[Figure]:
        """Bars of what each library lost, under the line of the cumulative share."""
        name = "savings_by_library"
        text = published(name)[0]
        panels = [_pareto(target) for target in self.measurements.targets]
        yield Figure(
            name,
            titled("Which libraries the savings come from", name),
            "Bars: what each library lost in the file system, the largest first; the ranks are "
            "those of the table of libraries. Line: the cumulative share, with 90 % dashed. "
            f"Published, {text.row}: {text.number('libraries_for_90_pct'):.0f} of "
            f"{text.number('libraries'):.0f} libraries account for 90 %.",
            specification(alt.vconcat(*panels, spacing=30)),
        )


def _pareto(target: DebloatedTarget) -> Any:
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


def pareto(target: DebloatedTarget) -> list[dict[str, Any]]:
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
