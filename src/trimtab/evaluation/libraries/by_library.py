"""Each library before and after, and its share of the savings: a Pareto chart."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import altair as alt
import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.libraries.size_columns import (
    GPU_SIZE_COLUMNS,
    REASON_COLUMNS,
    SIZE_COLUMNS,
    reduction_of,
    sizes,
)
from trimtab.evaluation.report.blocks import Fold, Untitled
from trimtab.evaluation.report.figures import AFTER, HIGHLIGHT, Figure, data, hover, specification
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.report.section import LIBRARIES, TargetSection
from trimtab.evaluation.report.tables import MB, Column, Row, Table

SHOWN = 100  # libraries of each target in the report's paged table


class ByLibrary(TargetSection):
    """Every library of every target, the largest reduction first."""

    order = 620
    chapter = LIBRARIES

    def make_tables(self) -> Iterator[Table]:
        """A row for each library of each target."""
        rows: list[Row] = []
        for target in self.measurements.targets:
            for rank, (_, library) in enumerate(by_reduction(target.libraries).iterrows(), start=1):
                frame = library.to_frame().T.infer_objects()
                rows.append(
                    {
                        "name": target.label,
                        "rank": rank,
                        "library": str(library["library"]),
                        **sizes(frame),
                        "saved_mb": float(library["saved_bytes"]) / MB,
                        "compressed_reduction_pct": reduction_of(frame, "compressed_before_bytes"),
                        "debloated": bool(library["debloated"]),
                        "reason": str(library["reason"] or ""),
                    }
                )
        yield Table(
            "libraries",
            "Library by library",
            "The library that lost most in the file system comes first; its rank is also in the "
            "Pareto chart. A skipped library has a reason.",
            (
                Column("name", "Target", in_report=False),
                Column("rank", "Rank", 0),
                Column("library", "Library"),
                Column("saved_mb", "Saved, MB", 2),
                *(self._of_one_library(column) for column in SIZE_COLUMNS),
                *REASON_COLUMNS,
                Column("compressed_reduction_pct", "compressed less, %", 1),
                Column("debloated", "Debloated"),
                Column("reason", "Why not"),
            ),
            tuple(rows),
        )

    def page(self) -> Iterator[Fold]:
        """Yield the most reduced libraries of each target; only the first target's are unfolded."""
        (table,) = self.tables
        for number, target in enumerate(self.measurements.targets):
            rows = tuple(row for row in table.rows if row["name"] == target.label)
            summary = f"{target.label}: {min(len(rows), SHOWN)} of {len(rows)} libraries"
            if len(rows) > SHOWN:
                summary += "; the CSV has all"
            yield Fold(summary, Untitled(replace(table, rows=rows[:SHOWN])), is_open=number == 0)

    def _of_one_library(self, column: Column) -> Column:
        """Return a column of sizes with more digits; columns of GPU code only if there is any."""
        return replace(
            column,
            decimals=2 if column.key.endswith("_mb") else column.decimals,
            in_report=self.measurements.have_gpu_code or column not in GPU_SIZE_COLUMNS,
        )


def by_reduction(libraries: pd.DataFrame) -> pd.DataFrame:
    """Return LIBRARIES with a column `saved_bytes`, the largest saving in the file system first."""
    saved = libraries["disk_before_bytes"] - libraries["disk_after_bytes"]
    return libraries.assign(saved_bytes=saved).sort_values(
        ["saved_bytes", "library"], ascending=[False, True]
    )


class Savings(TargetSection):
    """The saved file size of each library, a panel for each target."""

    order = 610
    chapter = LIBRARIES

    def make_figures(self) -> Iterator[Figure]:
        """Bars of each library's reduction, under the line of the cumulative share."""
        name = "savings_by_library"
        text = published(name)[0]
        panels = [_pareto(target) for target in self.measurements.targets]
        yield Figure(
            name,
            titled("Which libraries the savings come from", name),
            "Bars: the bytes that each library lost in the file system, largest first; ranks "
            "are as in the table of libraries. Line: the cumulative share, with 90 % dashed. "
            f"Published, {text.row}: {text.number('libraries_for_90_pct'):.0f} of "
            f"{text.number('libraries'):.0f} libraries account for 90 %.",
            specification(alt.vconcat(*panels, spacing=30)),
        )


def _pareto(target: DebloatedTarget) -> Any:
    values = pareto(target)
    base = alt.Chart(data(values)).encode(
        x=alt.X(
            "rank:O",
            title="Rank of the library",
            axis=alt.Axis(labelAngle=0, ticks=False, values=_labelled_ranks(len(values))),
        ),
        tooltip=["rank:Q", *hover("library", saved_mb=",.2f", cumulative_pct=".1f")],
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
    """Return the ranks to print on an axis of `count` libraries: all if they fit, else tens."""
    return [rank for rank in range(1, count + 1) if count <= 30 or rank == 1 or rank % 10 == 0]


def pareto(target: DebloatedTarget) -> list[dict[str, Any]]:
    """Return rank, library, saved_mb and cumulative_pct of each library, most saved first.

    The last library's cumulative share is 100 %, or None where nothing was saved.
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
