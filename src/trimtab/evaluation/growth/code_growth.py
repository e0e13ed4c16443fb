"""The growth of code bases, and their share of old code (the first seed, RQ1)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import altair as alt
import pandas as pd

from trimtab.evaluation.report.figures import Figure, data, hover, specification
from trimtab.evaluation.report.section import Chapter, ReportSection
from trimtab.evaluation.report.tables import Column, Row, Table

_MANY = 1000  # lines
_PANEL = 320


class CodeGrowth(ReportSection):
    """Lines of each code base by the year of their addition."""

    stage = "growth"
    order = 900
    chapter = Chapter("growth", "Growth of code bases", "Growth")

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each code base."""
        yield Table(
            "code_growth",
            "Growth of code bases",
            "Lines of source code at the last commit. A line came in the year in which it reached"
            " the branch as it is; one that was changed is of the year of its change. What stayed"
            " of a year is told by the lines that were there at its end.",
            columns=(
                Column("code_base", "Code base"),
                Column("since", "First year", 0),
                Column("lines", "Lines", 0),
                Column("lines_a_year", "More lines a year", 0),
                Column("older_pct", "Older than two years, %", 1),
                Column("stayed_pct", "Of the lines of two years ago still there, %", 1),
            ),
            rows=tuple(_row(frame) for frame in self.results),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the lines by year, a panel for each code base."""
        panels = [_panel(frame) for frame in self.results]
        yield Figure(
            "code_growth",
            "Lines of code by the year in which they came",
            "Thousands of lines over time, stacked by the year in which they were added. A "
            "layer that stays as thick as it was is code that nobody removed.",
            specification(alt.vconcat(*panels).resolve_scale(color="independent")),
        )

    def metrics(self) -> dict[str, Any]:
        """Return the lines of each code base."""
        return {"code_lines": {row["code_base"]: row["lines"] for row in map(_row, self.results)}}


def _row(frame: pd.DataFrame) -> Row:
    by_sample = frame.groupby("at_s")["lines"].sum()
    first_s, last_s = int(by_sample.index.min()), int(by_sample.index.max())
    years = (last_s - first_s) / (365.25 * 86_400)
    last = frame[frame["at_s"] == last_s]
    two_ago = _year(last_s) - 2
    old = int(last.loc[last["year"] <= two_ago, "lines"].sum())
    of_then = frame[[_year(at_s) <= two_ago for at_s in frame["at_s"]]]
    then = int(of_then.loc[of_then["at_s"] == of_then["at_s"].max(), "lines"].sum())
    lines = int(by_sample.iloc[-1])
    return {
        "code_base": str(frame["code_base"].iloc[0]),
        "since": _year(first_s),
        "lines": lines,
        "lines_a_year": (lines - int(by_sample.iloc[0])) / years if years else None,
        "older_pct": 100 * old / lines if lines else None,
        "stayed_pct": 100 * old / then if then else None,
    }


def _panel(frame: pd.DataFrame) -> Any:
    """Return the stacked lines of one code base; future years have none."""
    table = frame.pivot_table("lines", "at_s", "year", fill_value=0)
    values = [
        {"at": at_s * 1000, "year": str(year), "thousand_lines": int(lines) / _MANY}
        for at_s, row in zip(table.index.tolist(), table.itertuples(index=False), strict=True)
        for year, lines in zip(table.columns.tolist(), row, strict=True)
    ]
    return (
        alt.Chart(data(values))
        .mark_area()
        .encode(
            x=alt.X("at:T", title=None),
            y=alt.Y("thousand_lines:Q", title="Lines, thousands", stack="zero"),
            color=alt.Color(
                "year:O", title="Year", scale=alt.Scale(scheme="viridis"), sort="ascending"
            ),
            order=alt.Order("year:O"),
            tooltip=hover("year", thousand_lines=".1f"),
        )
        .properties(width=2 * _PANEL, height=_PANEL // 2, title=str(frame["code_base"].iloc[0]))
    )


def _year(at_s: int) -> int:
    return datetime.fromtimestamp(at_s, UTC).year
