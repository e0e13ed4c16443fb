"""Distributions of metrics over runs, at three levels (Rocha's thesis, Figures 5.1 to 5.3)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from trimtab.evaluation.characterization.section import DETAILS, CharacterizationSection
from trimtab.evaluation.report.figures import Figure, data
from trimtab.evaluation.report.tables import MEASURED, MODELLED, Column, Row, Table, compared
from trimtab.evaluation.schedules.section import figure_of, palette_colour

# By level: each metric with its heading and, for a logarithmic axis, True.
LEVELS: dict[str, tuple[str, Mapping[str, tuple[str, bool]]]] = {
    "application_metrics": (
        "Application level",
        {
            "train_s_per_1000_records": ("Training, s per 1,000 records", True),
            "quality": ("Quality", False),
            "inference_records_per_s": ("Inference, records/s", True),
        },
    ),
    "platform_metrics": (
        "Platform level",
        {
            "task_s": ("Task, s", True),
            "deserialization_s": ("Deserialization, s", True),
            "shuffle_wait_s": ("Shuffle, s", True),
            "gc_s": ("Garbage collection, s", True),
        },
    ),
    "infrastructure_metrics": (
        "Infrastructure level",
        {
            "energy_j": ("Energy, J", True),
            "peak_rss_bytes": ("Memory, bytes", True),
            "cpu_cores": ("CPU, cores busy", False),
            "network_bytes": ("Network, bytes", True),
        },
    ),
}
_OF_A_TASK = ("task_s", "deserialization_s", "shuffle_wait_s", "gc_s")
_RANKS = {"low": 0.0, "p25": 0.25, "median": 0.5, "p75": 0.75, "high": 1.0}
_CAPTION = (
    "Over all runs that ended well, training and inference together; the thesis tells them apart. "
    "At the platform's level a run's value is the mean of its tasks."
)


class MetricDistributions(CharacterizationSection):
    """Quartiles and extremes of every metric, by library."""

    order = 920

    @property
    def applies(self) -> bool:
        """Whether any run was successful."""
        return super().applies and not self.complete.empty

    def make_tables(self) -> Iterator[Table]:
        """Yield a table for each level."""
        for name, (title, metrics) in LEVELS.items():
            yield compared(
                name,
                title,
                _CAPTION,
                (
                    Column("metric", "Metric"),
                    Column("runs", "Runs", 0),
                    Column("low", "Lowest", 4),
                    Column("p25", "Quarter below", 4),
                    Column("median", "Median", 4),
                    Column("p75", "Three quarters below", 4),
                    Column("high", "Highest", 4),
                    DETAILS,
                ),
                self._rows(list(metrics)),
                who=(Column("name", "Library"),),
            )

    def make_figures(self) -> Iterator[Figure]:
        """Yield box plots, a figure for each level."""
        for name, (title, metrics) in LEVELS.items():
            panels = [
                _panel(values, heading, is_log)
                for metric, (heading, is_log) in metrics.items()
                if (values := self._points(metric, above_zero=is_log))
            ]
            caption = f"{_CAPTION} Boxes are quartiles, whiskers go to the ends."
            yield from figure_of(name, f"Distributions: {title.lower()}", caption, panels)

    def _rows(self, metrics: Sequence[str]) -> Iterator[Row]:
        for metric in metrics:
            for library, runs in self.complete.groupby("library"):
                values = values_of(runs, metric).dropna()
                if values.empty:
                    continue
                modelled = metric == "energy_j" and set(runs["energy_source"]) != {MEASURED}
                yield {
                    "name": str(library),
                    "hardware": self.engines,
                    "metric": metric,
                    "runs": len(values),
                    **{key: float(values.quantile(rank)) for key, rank in _RANKS.items()},
                    "source": MODELLED if modelled else MEASURED,
                }

    def _points(self, metric: str, above_zero: bool) -> list[dict[str, Any]]:
        values = values_of(self.complete, metric)
        return [
            {"library": library, "value": float(value)}
            for library, value in zip(self.complete["library"], values, strict=True)
            if pd.notna(value) and (value > 0 or not above_zero)
        ]


def values_of(runs: pd.DataFrame, metric: str) -> "pd.Series[Any]":
    """Return a metric of each run: the mean per task for Spark's task metrics; NaN if unknown."""
    if metric == "cpu_cores":
        return _ratio(runs["cpu_s"], runs["wall_s"])
    if metric in _OF_A_TASK:
        return _ratio(runs[metric], runs["tasks"])
    return runs[metric].astype(float)


def _ratio(above: "pd.Series[Any]", below: "pd.Series[Any]") -> "pd.Series[Any]":
    return above.astype(float) / below.astype(float).replace(0, np.nan)


def _panel(values: list[dict[str, Any]], heading: str, is_log: bool) -> Any:
    libraries = sorted({value["library"] for value in values})
    scale = alt.Scale(type="log") if is_log else alt.Scale(zero=False)
    return (
        alt.Chart(data(values))
        .mark_boxplot(extent="min-max", size=18)
        .encode(
            x=alt.X("value:Q", title=heading, scale=scale),
            y=alt.Y("library:N", title=None),
            color=palette_colour("library", libraries, "Library").legend(None),
        )
        .properties(width=560, height=28 * len(libraries))
    )
