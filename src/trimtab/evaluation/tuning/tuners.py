"""Comparison of tuners: their results and costs."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.tunings import TunedCell, TunedSetting
from trimtab.evaluation.report.blocks import Prose, prose
from trimtab.evaluation.report.figures import INK, Figure, data, hover, in_order
from trimtab.evaluation.report.key_figures import About, KeyFigure, difference
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.report.tables import (
    MODELLED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
    numbers,
    published_row,
    shown,
)
from trimtab.evaluation.schedules.section import figure_of, palette_colour
from trimtab.evaluation.tuning.section import WHO, TuningSection, against, of_seeds, spread_of, who

_SPREAD = {"accuracy_pct": 1, "training_s": 1, "tuning_s": 1, "tuning_reduction_pct": 1,
           "inference_tuning_s": 1, "inference_tuning_kj": 2, "tuning_kj": 2,
           "energy_reduction_pct": 1}  # fmt: skip
_HEADINGS = {
    "accuracy_pct": "Best accuracy, %",
    "training_s": "Its training, s",
    "tuning_s": "Tuning, s",
    "tuning_reduction_pct": "Less tuning, %",
    "inference_tuning_s": "Inference tuning, s",
    "inference_tuning_kj": "Its energy, kJ",
    "tuning_kj": "Energy of all, kJ",
    "energy_reduction_pct": "Less energy, %",
}
_PANELS = ("accuracy_pct", "training_s", "tuning_s", "tuning_kj")


class Tuners(TuningSection):
    """The tuners of each workload and objective, and the published ones."""

    order = 630

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each tuner; several searches give a median and its extremes."""
        columns = (
            *WHO,
            Column("searches", "Searches", 0),
            Column("rungs", "Rungs", 0),
            Column("failed", "Failed", 0),
            Column("work_epochs", "Epochs over all data", 1),
            *(
                Column(
                    key,
                    heading,
                    _SPREAD[key],
                    spread_of(key),
                    is_difference=key.endswith("_reduction_pct"),
                )
                for key, heading in _HEADINGS.items()
            ),
            Column("probed_epochs", "Epochs probed", 0),
            Column("known_pct", "Trials known, %", 0),
            Column("energy_source", "Energy"),
            *SOURCE_COLUMNS,
        )
        ours = [_row(setting, cell) for setting in self.settings for cell in setting.cells]
        theirs = map(published_row, published("tuning"))
        yield Table(
            "tuning",
            titled("Tuners", "tuning"),
            "The best configuration has the highest score on the largest budget. Of several "
            "searches: the median, the lowest and the highest. Tuning time runs from the first "
            "trial's start to the last one's end. The energy is of training and of tuning "
            "inference; epochs over all data count all training. Reductions are against the "
            "experiment's first tuner, same seed.",
            columns,
            (*ours, *theirs),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield accuracy, training, tuning and energy of each tuner, and accuracy over time."""
        yield from figure_of(
            "tuners",
            "Results of the tuners, and their cost",
            "Each bar is the median of a tuner's searches, each dot one search.",
            [_bars(setting) for setting in self.settings],
        )
        yield from figure_of(
            "accuracy_over_tuning_time",
            "Accuracy over tuning time",
            "The highest accuracy of any trial so far, on any budget: one line a search.",
            [panel for setting in self.settings if (panel := _over_time(setting)) is not None],
        )

    def done(self) -> Iterator[Prose]:
        """Yield a description of the tuning."""
        yield prose("tuned.html.j2", settings=self.settings, facts=self.measurements.inputs.facts)

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the tuning time of each tuner against the first one's."""
        for setting in self.settings:
            for cell in setting.cells[1:]:
                row = _row(setting, cell)
                less, *ends = (
                    row.get(key)
                    for key in (
                        "tuning_reduction_pct",
                        *reversed(spread_of("tuning_reduction_pct")),
                    )
                )
                if isinstance(less, float):
                    interval = [-end for end in ends if isinstance(end, float)]
                    found = difference(
                        f"Search by {cell.label}, against {setting.baseline.label}",
                        -less,
                        (interval[0], interval[1]) if len(interval) == len(ends) else None,
                        f"{_result(row)} beside {_result(_row(setting, setting.baseline))}",
                    )
                    yield setting.label, replace(found, about=About.TUNING)

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield remarks on modelled values, and on single searches."""
        for setting in self.settings:
            for cell in setting.cells:
                if cell.energy_source == MODELLED:
                    yield setting.label, "energy of tuning is modelled, not measured."
                if len(cell.searches) == 1:
                    yield (
                        setting.label,
                        "tuned with one seed: a difference between tuners may be chance.",
                    )

    def metrics(self) -> Mapping[str, Any]:
        """Return our numbers by "workload/hardware/objective/tuner/key"."""
        found: dict[str, float] = {}
        for setting in self.settings:
            for cell in setting.cells:
                prefix = "/".join((*cell.setting, cell.tuner))
                row = numbers(_row(setting, cell))
                found |= {f"{prefix}/{key}": float(value) for key, value in row.items()}
        return {"tuning": found}


def _result(row: Row) -> str:
    """Return what a tuner's search took and what came out, in words."""
    searched, trains, accuracy = (
        shown(row.get(key), 1) for key in ("tuning_s", "training_s", "accuracy_pct")
    )
    return f"{searched} s for {accuracy} % accuracy, trained in {trains} s"


def _row(setting: TunedSetting, cell: TunedCell) -> Row:
    searches, base = cell.searches, setting.baseline
    best = [search.best for search in searches]
    row: dict[str, Value] = {
        **who(cell),
        "searches": len(searches),
        "rungs": len(cell.trials),
        "failed": sum(search.failed for search in searches),
        **of_seeds("work_epochs", [search.work_epochs for search in searches]),
        **of_seeds("accuracy_pct", [100 * row["accuracy"] for row in best if row is not None]),
        **of_seeds("training_s", [row["training_s"] for row in best if row is not None]),
        **of_seeds("tuning_s", [search.tuning_s for search in searches]),
        **of_seeds("tuning_kj", [search.energy_j / 1e3 for search in searches]),
        "energy_source": cell.energy_source,
        "source": "measured",
    }
    beside = [search for search in searches if search.tunes_inference]
    row |= of_seeds("inference_tuning_s", [search.inference_tuning_s for search in beside])
    row |= of_seeds("inference_tuning_kj", [one.inference_tuning_j / 1e3 for one in beside])
    if cell is not base:
        row |= of_seeds("tuning_reduction_pct", against(base.searches, searches, "tuning_s"))
        row |= of_seeds("energy_reduction_pct", against(base.searches, searches, "energy_j"))
    if cell.trials["epochs_probed"].any() or cell.trials["known"].any():
        last = cell.trials.groupby(["seed", "fold", "trial"])[["epochs_probed", "known"]].max()
        row["probed_epochs"] = int(last["epochs_probed"].sum())
        row["known_pct"] = 100.0 * float(last["known"].mean())
    return row


def _bars(setting: TunedSetting) -> Any:
    """Return a chart for each quantity, with a bar per tuner and a dot per search."""
    tuners = [cell.label for cell in setting.cells]
    charts = []
    for key in _PANELS:
        rows = [_row(setting, cell) for cell in setting.cells]
        medians = [{"tuner": row["name"], "value": row.get(key)} for row in rows]
        dots = [
            {"tuner": cell.label, "seed": search.seed, "value": value}
            for cell in setting.cells
            for search in cell.searches
            if (value := _value(search, key)) is not None
        ]
        y = alt.Y("value:Q", title=_HEADINGS[key])
        x = alt.X("tuner:N", sort=tuners, title=None, axis=alt.Axis(labelAngle=-30))
        bars = alt.Chart(data(medians)).mark_bar().encode(
            x=x, y=y, color=palette_colour("tuner", tuners, "Tuner"),
            tooltip=hover("tuner", value=",.2f"),
        )  # fmt: skip
        points = alt.Chart(data(dots)).mark_point(filled=True, color=INK, size=18).encode(
            x=x, y=y, tooltip=hover("tuner", "seed", value=",.2f")
        )  # fmt: skip
        charts.append(alt.layer(bars, points).properties(width=40 + 34 * len(tuners), height=180))
    return alt.hconcat(*charts, title=alt.TitleParams(setting.label))


def _value(search: Any, key: str) -> float | None:
    if key == "tuning_s":
        return float(search.tuning_s)
    if key == "tuning_kj":
        return None if math.isnan(search.energy_j) else float(search.energy_j) / 1e3
    if search.best is None:
        return None
    return float(100 * search.best["accuracy"] if key == "accuracy_pct" else search.best[key])


def _over_time(setting: TunedSetting) -> Any:
    """Return the highest accuracy over time, held up to the search's end."""
    values = []
    for cell in setting.cells:
        for search in cell.searches:
            steps = search.best_over_time()
            if steps:
                steps.append((search.tuning_s, steps[-1][1]))
            values += [
                {"tuner": cell.label, "search": f"{cell.label} {search.seed}", "at_s": at_s,
                 "accuracy_pct": 100 * accuracy}
                for at_s, accuracy in steps
            ]  # fmt: skip
    if not values:
        return None
    tuners = in_order(cell.label for cell in setting.cells)
    return (
        alt.Chart(data(values))
        .mark_line(interpolate="step-after", strokeWidth=1.6, opacity=0.85)
        .encode(
            x=alt.X("at_s:Q", title="Tuning time, s"),
            y=alt.Y("accuracy_pct:Q", title="Accuracy, %", scale=alt.Scale(zero=False)),
            color=palette_colour("tuner", tuners, "Tuner"),
            detail="search:N",
            tooltip=hover("search", at_s=",.1f", accuracy_pct=",.2f"),
        )
        .properties(width=520, height=240, title=setting.label)
    )
