"""Tuning one level or both: results at equal budget (Rocha's thesis, Figure 5.8)."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import altair as alt

from trimtab.evaluation.characterization.section import DETAILS, WORKLOAD, CharacterizationSection
from trimtab.evaluation.characterization.strategies import (
    METRICS,
    STRATEGIES,
    StrategyComparison,
    compare,
)
from trimtab.evaluation.report.figures import Figure, data, hover
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table, compared
from trimtab.evaluation.schedules.section import figure_of, palette_colour
from trimtab.records.characterization.impact import NOT_SHOWN

_CAPTION = (
    "What the best of equally many configurations came to, or of all that a strategy has, which "
    "favours those with more; the defaults are beside: the median over "
    "draws of configurations and of their repeats, and where 95 % of the draws lie. The last "
    "columns set joint tuning against the better single level: equal, where the interval spans "
    "zero; not shown, where a configuration had fewer than three runs."
)
_HEADINGS = {
    "train_s": "Training, s",
    "inference_records_per_s": "Inference, records/s",
    "quality": "Quality",
}
_BAR = ("train_s", "quality")  # joint tuning has to be as good in one of them


class TuningLevels(CharacterizationSection):
    """Platform only, hyper only, and joint."""

    order = 950

    @property
    def applies(self) -> bool:
        """Whether all strategies were tried on some workload."""
        return super().applies and bool(self._comparisons)

    @cached_property
    def _comparisons(self) -> dict[str, list[StrategyComparison]]:
        """The comparable metrics, by workload."""
        found = {
            name: [one for metric in METRICS if (one := compare(own, metric)) is not None]
            for name, own in self.by_workload.items()
        }
        return {name: comparisons for name, comparisons in found.items() if comparisons}

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each workload, metric and strategy."""
        yield compared(
            "tuning_levels",
            "One level or both, at equal budget",
            _CAPTION,
            (
                Column("metric", "Metric"),
                Column("strategy", "Strategy"),
                Column("budget", "Configurations each, at most", 0),
                Column("best", "Best", 4, ("best_low", "best_high")),
                Column("against", "Against"),
                Column("change_pct", "Change, %", 1, ("change_low_pct", "change_high_pct")),
                Column("verdict", "Joint tuning is"),
                DETAILS,
            ),
            (
                row
                for name, comparisons in self._comparisons.items()
                for comparison in comparisons
                for row in _rows(name, comparison, self.engines)
            ),
            who=WORKLOAD,
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield each strategy's result, a row of panels for each workload."""
        panels = [
            alt.hconcat(*map(_panel, comparisons), title=alt.TitleParams(name))
            for name, comparisons in self._comparisons.items()
        ]
        yield from figure_of(
            "tuning_levels", "One level or both, at equal budget", _CAPTION, panels
        )

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the number of workloads on which joint tuning matches the better single level."""
        reached, shown = self._reached()
        if shown:
            detail = "in training time or quality, at equal budget, of the workloads where it shows"
            yield "Characterization", KeyFigure("Joint tuning", f"{reached} of {shown}", detail)

    def metrics(self) -> Mapping[str, Any]:
        """Return the verdicts, and the number of workloads with joint tuning better or equal."""
        reached, shown = self._reached()
        verdicts = {
            name: {one.metric: one.verdict for one in comparisons}
            for name, comparisons in self._comparisons.items()
        }
        return {
            "characterization": {
                "joint": {"verdicts": verdicts, "better_or_equal": reached, "shown": shown}
            }
        }

    def _reached(self) -> tuple[int, int]:
        """Return the numbers of workloads that reach the bar, and that show any result."""
        judged = [
            [one for one in comparisons if one.metric in _BAR and one.verdict != NOT_SHOWN]
            for comparisons in self._comparisons.values()
        ]
        shown = [of_it for of_it in judged if of_it]
        return sum(any(one.is_reached for one in of_it) for of_it in shown), len(shown)


def _rows(name: str, comparison: StrategyComparison, engines: str) -> Iterator[Row]:
    for phase, strategy in STRATEGIES.items():
        find = comparison.finds[phase]
        row: dict[str, Any] = {
            "name": name,
            "hardware": engines,
            "metric": comparison.metric,
            "strategy": strategy,
            "budget": comparison.budget,
            "best": find.median,
            "best_low": find.low,
            "best_high": find.high,
            "source": MEASURED,
        }
        if phase == "joint":
            change = comparison.change_pct
            row |= {
                "against": STRATEGIES[comparison.single],
                "change_pct": change.median,
                "change_low_pct": change.low,
                "change_high_pct": change.high,
                "verdict": comparison.verdict,
            }
        yield row


def _panel(comparison: StrategyComparison) -> Any:
    values = [
        {"strategy": strategy, "best": find.median, "low": find.low, "high": find.high}
        for phase, strategy in STRATEGIES.items()
        if (find := comparison.finds[phase])
    ]
    base = alt.Chart(data(values)).encode(
        x=alt.X("strategy:N", sort=list(STRATEGIES.values()), title=None)
    )
    bars = base.mark_bar().encode(
        y=alt.Y("best:Q", title=_HEADINGS[comparison.metric]),
        color=palette_colour("strategy", list(STRATEGIES.values()), "Strategy").legend(None),
        tooltip=hover("strategy", best=".4g", low=".4g", high=".4g"),
    )
    ends = base.mark_rule(strokeWidth=2).encode(y="low:Q", y2="high:Q")
    return alt.layer(bars, ends).properties(width=150, height=160)
