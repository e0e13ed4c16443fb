"""Variability within methods and within data sets (Rocha's thesis, Figures 5.4 and 5.5)."""

from collections.abc import Iterator, Mapping
from math import log10
from statistics import median
from typing import Any

import altair as alt
import pandas as pd

from trimtab.evaluation.characterization.section import DETAILS, CharacterizationSection
from trimtab.evaluation.report.figures import Figure, data, hover
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table, compared, numbers
from trimtab.evaluation.schedules.section import figure_of

_METRICS = {
    "train_s_per_1000_records": ("training_variability", "Training, s per 1,000 records"),
    "inference_records_per_s": ("throughput_variability", "Inference, records/s"),
}
_WITHIN = {"method": "same method", "data": "same data"}


class Variability(CharacterizationSection):
    """The spread of workloads with a common method, and with a common data set."""

    order = 930

    @property
    def applies(self) -> bool:
        """Whether any method or data set has two workloads."""
        return super().applies and bool(self._rows)

    @property
    def _rows(self) -> list[Row]:
        return [
            row
            for metric in _METRICS
            for key in _WITHIN
            for row in _spreads(self.complete, metric, key, self.engines)
        ]

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each method and each data set with two workloads or more."""
        yield compared(
            "variability",
            "The data or the method",
            "Powers of ten between the lowest and the highest of the workloads' medians, at the "
            "defaults and at all settings that were tried.",
            (
                Column("within", "Within"),
                Column("metric", "Metric"),
                Column("workloads", "Workloads", 0),
                Column("spread_decades", "Powers of ten", 2),
                DETAILS,
            ),
            self._rows,
            who=(Column("name", "Method or data"),),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the runs by method and by data set, a figure for each metric."""
        for metric, (name, heading) in _METRICS.items():
            panels = [
                _panel(values, heading, words)
                for key, words in _WITHIN.items()
                if (values := _points(self.complete, metric, key))
            ]
            caption = "Every run, on an axis of powers of ten; boxes are quartiles."
            yield from figure_of(name, f"{heading}, by method and by data", caption, panels)

    def metrics(self) -> Mapping[str, Any]:
        """Return the median spreads within methods and within data sets."""
        found: dict[str, dict[str, float]] = {}
        for metric in _METRICS:
            for words in _WITHIN.values():
                spreads = [
                    numbers(row)["spread_decades"]
                    for row in self._rows
                    if (row["metric"], row["within"]) == (metric, words)
                ]
                if spreads:
                    found.setdefault(metric, {})[words.replace(" ", "_")] = median(spreads)
        return {"characterization": {"spread_decades": found}}


def _spreads(runs: pd.DataFrame, metric: str, key: str, engines: str) -> Iterator[Row]:
    positive = runs[runs[metric].astype(float) > 0]
    for name, own in positive.groupby(key):
        medians = own.groupby("workload")[metric].median()
        if len(medians) > 1:
            yield {
                "name": str(name),
                "hardware": engines,
                "within": _WITHIN[key],
                "metric": metric,
                "workloads": len(medians),
                "spread_decades": log10(medians.max() / medians.min()),
                "source": MEASURED,
            }


def _points(runs: pd.DataFrame, metric: str, key: str) -> list[dict[str, Any]]:
    positive = runs[runs[metric].astype(float) > 0]
    columns = positive[[key, "workload", metric]].itertuples(index=False, name=None)
    return [
        {"group": str(group), "workload": str(workload), "value": float(value)}
        for group, workload, value in columns
    ]


def _panel(values: list[dict[str, Any]], heading: str, within: str) -> Any:
    base = alt.Chart(data(values)).encode(
        x=alt.X("value:Q", title=heading, scale=alt.Scale(type="log")),
        y=alt.Y("group:N", title=None),
    )
    boxes = base.mark_boxplot(extent="min-max", size=14, color="#9aa7b5")
    dots = base.mark_tick(thickness=2).encode(tooltip=hover("workload", value=".4g"))
    groups = len({value["group"] for value in values})
    return alt.layer(boxes, dots).properties(width=560, height=22 * groups, title=within)
