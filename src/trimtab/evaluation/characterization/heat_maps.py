"""The effect of each parameter on each workload (Rocha's thesis, Figures 5.6 and 5.7)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import altair as alt

from trimtab.evaluation.characterization.section import DETAILS, WORKLOAD, CharacterizationSection
from trimtab.evaluation.report.figures import INK, Figure, data, hover, in_order, scaled
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table, compared
from trimtab.evaluation.schedules.section import figure_of
from trimtab.records.characterization.impact import (
    HIGH,
    LIMITS,
    LOW,
    MEDIUM,
    NONE,
    NOT_SHOWN,
    Impact,
    impacts,
)

_HEADINGS = {
    "train_s": "Training time",
    "inference_records_per_s": "Inference throughput",
    "quality": "Quality",
}
# By kind of parameter: the name, the title, and the thesis' figure of it.
_MAPS = {
    "platform": ("platform_impact", "Platform parameters", ("train_s", "inference_records_per_s")),
    "hyper": ("hyper_impact", "Hyperparameters", ("quality",)),
}
_COLOURS = {
    HIGH: "#475569",
    MEDIUM: "#b6c2cf",
    LOW: "#eef2f6",
    NONE: "#ffffff",
    NOT_SHOWN: "#fde9c8",
}
_CAPTION = (
    "The largest change of a median between the levels tried and the defaults, with its 95 % "
    "interval, bootstrapped over repeats. High is above 20 % of time and throughput and above 5 % "
    "of quality, medium from 10 and 1 %, low less, none where the interval spans zero and reaches "
    "no limit; where it spans a limit, or there are fewer than three repeats, nothing is shown."
)


class HeatMaps(CharacterizationSection):
    """Workloads by parameters, in the thesis' colours."""

    order = 940

    @property
    def applies(self) -> bool:
        """Whether any parameter was varied alone."""
        return super().applies and bool(self._impacts)

    @cached_property
    def _impacts(self) -> list[Impact]:
        return impacts(self.runs)

    def make_tables(self) -> Iterator[Table]:
        """Yield a table for each kind of parameter, with every metric."""
        for kind, (name, title, _) in _MAPS.items():
            yield compared(
                name,
                f"Impact of {title.lower()}",
                _CAPTION,
                (
                    Column("parameter", "Parameter"),
                    Column("metric", "Metric"),
                    Column("level", "Level"),
                    Column("change_pct", "Change, %", 1, ("change_low_pct", "change_high_pct")),
                    Column("impact", "Impact"),
                    DETAILS,
                ),
                (self._row(impact) for impact in self._impacts if impact.kind == kind),
                who=WORKLOAD,
            )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the heat maps."""
        for kind, (name, title, metrics) in _MAPS.items():
            panels = [
                _panel(own, _HEADINGS[metric])
                for metric in metrics
                if (own := [i for i in self._impacts if (i.kind, i.metric) == (kind, metric)])
            ]
            yield from figure_of(name, f"Impact of {title.lower()}", _CAPTION, panels)

    def metrics(self) -> Mapping[str, Any]:
        """Return the number of impacts of each size, by kind of parameter and metric."""
        counts = Counter((i.kind, i.metric, i.word.replace(" ", "_")) for i in self._impacts)
        found: dict[str, dict[str, dict[str, int]]] = {}
        for (kind, metric, word), count in counts.items():
            found.setdefault(kind, {}).setdefault(metric, {})[word] = count
        return {"characterization": {"impacts": found}}

    def _row(self, impact: Impact) -> Row:
        largest = impact.largest
        change: Row = (
            {}
            if largest is None
            else {
                "level": largest.level,
                "change_pct": largest.change_pct,
                "change_low_pct": largest.low_pct,
                "change_high_pct": largest.high_pct,
            }
        )
        return {
            "name": impact.workload,
            "hardware": self.engines,
            "parameter": impact.parameter,
            "metric": impact.metric,
            **change,
            "impact": impact.word,
            "source": MEASURED,
        }


def _panel(own: list[Impact], heading: str) -> Any:
    limits = LIMITS[own[0].metric]
    values = [
        {
            "workload": impact.workload,
            "parameter": impact.parameter,
            "impact": impact.word,
            "change": f"{impact.largest.change_pct:+.1f}" if impact.largest else "",
            "ink": "#ffffff" if impact.word == HIGH else INK,
        }
        for impact in own
    ]
    workloads = in_order(value["workload"] for value in values)
    parameters = in_order(value["parameter"] for value in values)
    base = alt.Chart(data(values)).encode(
        x=alt.X("workload:N", sort=workloads, title=None, axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("parameter:N", sort=parameters, title=None),
        tooltip=hover("workload", "parameter", "impact", "change"),
    )
    title = f"{heading}: high above {limits.high_pct:g} %, medium from {limits.medium_pct:g} %"
    return (
        alt.layer(
            base.mark_rect(stroke="#cbd5e1").encode(
                color=scaled(alt.Color, "impact:N", _COLOURS, list(_COLOURS.values()))
            ),
            base.mark_text(fontSize=9).encode(
                text="change:N", color=alt.Color("ink:N", scale=None)
            ),
        )
        .resolve_scale(color="independent")
        .properties(width=44 * len(workloads), height=24 * len(parameters), title=title)
    )
