"""Saturation: additions by further traced runs and workloads, and estimates of unseen code."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.report.figures import Figure, data, hover, in_order, specification
from trimtab.evaluation.report.section import UNSEEN, TargetSection
from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.records.misses.saturation import Saturation

_PANEL = 220


class Saturated(TargetSection):
    """The functions and files of united runs, and the estimate of unseen ones.

    The samples of a workload are its traced runs; a target's samples are its workloads.
    """

    order = 520
    chapter = UNSEEN

    @property
    def applies(self) -> bool:
        """Whether any saturation is known."""
        return bool(self._found)

    @property
    def _found(self) -> list[tuple[str, Saturation]]:
        of_workloads = [
            (profile.label, each)
            for profile in self.measurements.profiles
            for each in profile.usage.saturation
        ]
        of_targets = [
            (target.label, each)
            for target in self.measurements.targets
            for each in target.manifest.saturation
        ]
        return of_workloads + of_targets

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload or target, and for functions and files."""
        yield Table(
            "saturation",
            "Were these runs enough?",
            "A function or file that one of the runs alone used says that there are more like it. "
            "Expected of one more: how many others it would use (Good and Turing), and which share "
            "of its own that is. Unseen at least: Chao's lower bound (Chao2) for those that no run "
            "used. Both are put back when they are asked for.",
            (
                Column("name", "Of"),
                Column("what", "What"),
                Column("by", "A sample is a"),
                Column("runs", "Samples", 0),
                Column("seen", "Used", 0),
                Column("once", "by one alone", 0),
                Column("next_run", "Expected of one more", 1),
                Column("next_run_percent", "of its own, %", 2),
                Column("unseen", "Unseen at least", 0),
            ),
            tuple(_row(name, each) for name, each in self._found),
        )

    def make_figures(self) -> Iterator[Figure]:
        """The numbers seen after each further run."""
        curves = [(name, each) for name, each in self._found if each.runs > 1]
        if not curves:
            return
        values = [
            {
                "series": f"{name}, {each.what} by {each.by}",
                "runs": number,
                "seen_percent": 100 * seen / max(each.seen, 1),
            }
            for name, each in curves
            for number, seen in enumerate(each.curve, 1)
        ]
        chart: Any = (
            alt.Chart(data(values))
            .mark_line(point=True)
            .encode(
                x=alt.X("runs:Q", title="Runs", axis=alt.Axis(tickMinStep=1, format="d")),
                y=alt.Y(
                    "seen_percent:Q",
                    title="Seen, % of all that were used",
                    scale=alt.Scale(zero=False),
                ),
                tooltip=hover("series", runs="d", seen_percent=".2f"),
            )
            .properties(width=_PANEL, height=_PANEL // 2)
            .facet(
                facet=alt.Facet("series:N", title=None, sort=in_order(v["series"] for v in values)),
                columns=3,
            )
        )
        yield Figure(
            "saturation",
            "What each further run added",
            "Functions and files seen after so many runs, averaged over all orders of them. A "
            "curve that is flat at its end has seen nearly all.",
            specification(chart),
        )

    def metrics(self) -> dict[str, Any]:
        """Return the expected share of unseen functions or files in a next run."""
        shares: dict[str, Any] = {}
        for name, each in self._found:
            shares.setdefault(name, {})[f"new_{each.what}_percent"] = _new_percent(each)
        return {"saturation": shares}


def _new_percent(each: Saturation) -> float | None:
    return None if each.coverage is None else 100 * (1 - each.coverage)


def _row(name: str, each: Saturation) -> Row:
    return {
        "name": name,
        "what": each.what,
        "by": each.by,
        "runs": each.runs,
        "seen": each.seen,
        "once": each.once,
        "next_run": each.next_run,
        "next_run_percent": _new_percent(each),
        "unseen": each.unseen,
    }
