"""When joint tuning pays: where platform parameters and hyperparameters interact."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import altair as alt

from trimtab.evaluation.characterization.interactions import Interaction, interaction
from trimtab.evaluation.characterization.section import WORKLOAD, CharacterizationSection
from trimtab.evaluation.characterization.strategies import METRICS, StrategyComparison, compare
from trimtab.evaluation.report.figures import Figure, data, hover, specification
from trimtab.evaluation.report.tables import HARDWARE_COLUMN, MEASURED, Column, Row, Table
from trimtab.evaluation.schedules.section import palette_colour, zero_line

_LEAST_WORKLOADS = 4  # for a correlation
_CAPTION = (
    "Shares of a metric's variance over all settings, by a random forest: due to the platform "
    "alone, to hyperparameters alone, and to their interaction. An interaction is shown if its "
    "95 % interval lies above the forest's result on data without one. The gain compares joint "
    "tuning with the better single level, at equal budget; above zero is better."
)


class JointTuning(CharacterizationSection):
    """Interactions of both kinds of parameters, beside the gain by joint tuning."""

    order = 970

    @property
    def applies(self) -> bool:
        """Whether both kinds were varied together anywhere."""
        return super().applies and bool(self._found)

    @cached_property
    def _found(self) -> list[tuple[str, Interaction, StrategyComparison | None]]:
        return [
            (name, one, compare(own, metric))
            for name, own in self.by_workload.items()
            for metric in METRICS
            if (one := interaction(own, metric)) is not None
        ]

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each workload and metric."""
        yield Table(
            "interactions",
            "When joint tuning pays",
            _CAPTION,
            (
                *WORKLOAD,
                HARDWARE_COLUMN,
                Column("metric", "Metric"),
                Column("platform_pct", "Platform, %", 1),
                Column("hyper_pct", "Hyper, %", 1),
                Column(
                    "interaction_pct", "Both, %", 1, ("interaction_low_pct", "interaction_high_pct")
                ),
                Column("none_pct", "Without any, %", 1),
                Column("interaction", "Interaction"),
                Column("gain_pct", "Gain of joint tuning, %", 1),
                Column("source", "Source"),
            ),
            tuple(_row(*found, self.engines) for found in self._found),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the gain over the interaction."""
        rows = [row for row in map(_values, self._found) if row["gain"] is not None]
        if rows:
            dots = (
                alt.Chart(data(rows))
                .mark_point(filled=True, size=60)
                .encode(
                    x=alt.X("interaction:Q", title="Interaction, % of variance"),
                    y=alt.Y("gain:Q", title="Gain of joint tuning, %"),
                    color=palette_colour("metric", list(METRICS), "Metric"),
                    tooltip=hover("workload", "metric", interaction=".1f", gain=".1f"),
                )
            )
            chart = alt.layer(dots, zero_line("y")).properties(width=460, height=260)
            yield Figure(
                "interactions",
                "When joint tuning pays",
                "The gain of joint tuning against the better single level at equal budget, over "
                "the share of variance due to both kinds of parameters; a dot a workload.",
                specification(chart),
            )

    def metrics(self) -> Mapping[str, Any]:
        """Return the rank correlation of gain and interaction over workloads, by metric."""
        correlations = {}
        for metric in METRICS:
            pairs = [
                (row["interaction"], row["gain"])
                for row in map(_values, self._found)
                if row["metric"] == metric and row["gain"] is not None
            ]
            first, second = ([pair[side] for pair in pairs] for side in (0, 1))
            if len(pairs) >= _LEAST_WORKLOADS and len(set(first)) > 1 and len(set(second)) > 1:
                from scipy.stats import spearmanr  # a second, that most reports do without

                result = spearmanr(first, second)
                correlations[metric] = {
                    "rank_correlation": float(result.statistic),
                    "p_value": float(result.pvalue),
                    "workloads": len(pairs),
                }
        return {"characterization": {"gain_by_interaction": correlations}}


def _values(found: tuple[str, Interaction, StrategyComparison | None]) -> dict[str, Any]:
    name, one, comparison = found
    return {
        "workload": name,
        "metric": one.metric,
        "interaction": one.interaction_pct,
        "gain": _gain_pct(comparison),
    }


def _gain_pct(comparison: StrategyComparison | None) -> float | None:
    if comparison is None:
        return None
    return comparison.change_pct.median * (1 if METRICS[comparison.metric] else -1)


def _row(name: str, one: Interaction, comparison: StrategyComparison | None, engines: str) -> Row:
    return {
        "name": name,
        "hardware": engines,
        "metric": one.metric,
        "platform_pct": one.platform_pct,
        "hyper_pct": one.hyper_pct,
        "interaction_pct": one.interaction_pct,
        "interaction_low_pct": one.low_pct,
        "interaction_high_pct": one.high_pct,
        "none_pct": one.none_pct,
        "interaction": "shown" if one.is_shown else "not shown",
        "gain_pct": _gain_pct(comparison),
        "source": MEASURED,
    }
