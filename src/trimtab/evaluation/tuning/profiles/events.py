"""The events of epochs: their repeatability, and the similarity of workloads by them.

Rocha's thesis, sections 6.1 and 6.3.4: PipeTune recognises jobs by these profiles.
"""

import json
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import altair as alt
import pandas as pd

from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.evaluation.report.figures import INK, Figure, data, hover, in_order
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table
from trimtab.evaluation.schedules.section import figure_of
from trimtab.evaluation.tuning.section import TuningSection

FEW = 10.0  # events a second: smaller differences mean nothing, as in the ground truth
_MOST_EPOCHS = 12
_UNITS = {"memory_gib": "GiB", "gpus": "GPUs", "frequency_mhz": "MHz"}


class Events(TuningSection):
    """Heat maps of the counted events in the epochs of trials."""

    order = 650

    @property
    def applies(self) -> bool:
        """Whether any epoch's events were recorded."""
        return super().applies and any(not cell.epochs.empty for cell in self.measurements.tunings)

    def make_tables(self) -> Iterator[Table]:
        """Yield the distances of workloads by their events, on equal settings."""
        rows = tuple(self._distances())
        if rows:
            yield Table(
                "workload_distances",
                "Workloads by their events",
                "The mean over events of how much rates differ, as a factor: 1 is alike. Medians "
                "of the epochs of all trials under the same settings.",
                (
                    Column("name", "Workload"),
                    Column("other", "Other"),
                    Column("settings", "Settings"),
                    Column("events", "Events", 0),
                    Column("factor", "Rates differ by a factor of", 2),
                    *SOURCE_COLUMNS,
                ),
                rows,
            )

    def make_figures(self) -> Iterator[Figure]:
        """Yield events epoch by epoch, and events of workloads and settings."""
        longest: dict[str, TunedCell] = {}
        for cell in self.measurements.tunings:
            known = longest.get(cell.workload)
            if not cell.epochs.empty and (known is None or _most(cell) > _most(known)):
                longest[cell.workload] = cell
        yield from figure_of(
            "epoch_events",
            "Events, epoch by epoch",
            "Of each workload the run with the most epochs: events a second of the processor, "
            "against their mean over its epochs. Rows of one colour repeat from epoch to epoch. "
            "Under each epoch the settings that it ran under.",
            [_epochs_panel(cell) for cell in longest.values() if _most(cell) > 1],
        )
        medians = self._medians
        groups = {(one["workload"], one["settings"]) for one in medians}
        if len(groups) > 1:
            yield from figure_of(
                "workload_events",
                "Events by workload and settings",
                "Medians of all epochs: events a second of the processor, against the mean of "
                "the row.",
                [_medians_panel(medians)],
            )

    @property
    def _medians(self) -> list[dict[str, Any]]:
        """Return the median rate of each event by workload and settings."""
        rows = [
            {"workload": cell.workload, "settings": in_short(epoch["settings"]), "event": event,
             "rate": rate}
            for cell in self.measurements.tunings
            for epoch in cell.epochs.to_dict("records")
            for event, rate in epoch["rates"].items()
        ]  # fmt: skip
        if not rows:
            return []
        keys = ["workload", "settings", "event"]
        table = pd.DataFrame(rows).groupby(keys, sort=False)["rate"].median().reset_index()
        return [{str(key): value for key, value in one.items()} for one in table.to_dict("records")]

    def _distances(self) -> Iterator[Row]:
        rates: dict[str, dict[str, dict[str, float]]] = {}
        for one in self._medians:
            of_workload = rates.setdefault(one["settings"], {}).setdefault(one["workload"], {})
            of_workload[one["event"]] = one["rate"]
        for settings, workloads in rates.items():
            for left, right in combinations(workloads, 2):
                events = workloads[left].keys() & workloads[right].keys()
                if events:
                    yield {
                        "name": left,
                        "other": right,
                        "settings": settings,
                        "events": len(events),
                        "factor": math.exp(
                            sum(
                                abs(_log(workloads[left][one]) - _log(workloads[right][one]))
                                for one in events
                            )
                            / len(events)
                        ),
                        "source": "measured",
                    }


def in_short(settings: dict[str, Any]) -> str:
    """Return settings as a few words, "2 cores, 8 GiB"; "as started" without any."""
    said = [
        f"{value:g} {_UNITS.get(name, name.replace('_', ' ')).removesuffix('s' * (value == 1))}"
        for name, value in settings.items()
    ]
    return ", ".join(said) or "as started"


def _log(rate: float) -> float:
    return math.log(rate + FEW)


def _in_words(rate: float) -> str:
    """Return a rate in three or four letters: 1.5, 830, 54k."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.2g}{unit}" if rate < 10 * size else f"{rate / size:.0f}{unit}"
    return f"{rate:.2g}" if rate < 10 else f"{rate:.0f}"


def _most(cell: TunedCell) -> int:
    return int(cell.epochs.groupby("row").size().max()) if not cell.epochs.empty else 0


def _epochs_panel(cell: TunedCell) -> Any:
    counts = cell.epochs.groupby("row").size()
    epochs = cell.epochs[cell.epochs["row"] == counts.idxmax()].head(_MOST_EPOCHS)
    columns = [f"{one['epoch'] + 1}" for one in epochs.to_dict("records")]
    settings = [in_short(one) for one in epochs["settings"]]
    title = f"{cell.workload}, {cell.label}"
    if len(set(settings)) == 1:
        title += f": {settings[0]}"
    else:
        columns = [f"{at}: {said}" for at, said in zip(columns, settings, strict=True)]
    values = against_row(
        [
            {"column": column, "event": event, "rate": rate}
            for column, rates in zip(columns, epochs["rates"], strict=True)
            for event, rate in rates.items()
        ]
    )
    return heat_map(values, columns, "Epoch", title)


def _medians_panel(medians: list[dict[str, Any]]) -> Any:
    ordered = sorted(medians, key=lambda one: (one["settings"], one["workload"]))
    values = against_row(
        [{"column": f"{one['workload']}, {one['settings']}", **one} for one in ordered]
    )
    return heat_map(values, in_order(one["column"] for one in values), None, "")


def against_row(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the values with `difference`, the base 2 logarithm relative to their event's mean."""
    logarithms: dict[str, list[float]] = {}
    for one in values:
        logarithms.setdefault(one["event"], []).append(_log(one["rate"]))
    return [
        {**one, "difference": (_log(one["rate"]) - sum(of_it) / len(of_it)) / math.log(2)}
        for one in values
        if (of_it := logarithms[one["event"]])
    ]


def heat_map(values: list[dict[str, Any]], columns: list[str], axis: str | None, title: str) -> Any:
    """Return a chart of `against_row`'s values: events by columns, with their rates as words."""
    named = [
        {**one, "event": one["event"].replace("_", " "), "words": _in_words(one["rate"])}
        for one in values
    ]
    most = max(1.0, *(abs(one["difference"]) for one in named))
    colour = alt.Color(
        "difference:Q",
        scale=alt.Scale(scheme="blueorange", domain=[-most, most]),
        legend=alt.Legend(title="Doublings", gradientLength=120),
    )
    base = alt.Chart(data(json.loads(json.dumps(named)))).encode(
        x=alt.X("column:N", sort=columns, title=axis,
                axis=alt.Axis(labelAngle=-40 if max(map(len, columns)) > 3 else 0, labelLimit=260)),
        y=alt.Y("event:N", sort=in_order(one["event"] for one in named), title=None),
    )  # fmt: skip
    cells = base.mark_rect(stroke="white").encode(
        color=colour, tooltip=hover("column", "event", rate=",.0f", difference="+.2f")
    )
    words = base.mark_text(fontSize=9).encode(
        text="words:N",
        color=alt.condition(
            f"abs(datum.difference) > {0.6 * most}", alt.value("white"), alt.value(INK)
        ),
    )
    return alt.layer(cells, words).properties(width=alt.Step(58), height=alt.Step(22), title=title)
