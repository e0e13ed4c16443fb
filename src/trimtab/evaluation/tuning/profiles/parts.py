"""Whether inference equals the forward phase of training, by their events.

Rocha's thesis, section 2.4: it does by processor events, not by memory events.
"""

import math
from collections.abc import Iterator
from typing import Any, cast

import pandas as pd

from trimtab.evaluation.report.figures import Figure, in_order
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table
from trimtab.evaluation.schedules.section import figure_of
from trimtab.evaluation.tuning.profiles.events import FEW, against_row, heat_map, in_short
from trimtab.evaluation.tuning.section import TuningSection

_PART, _BATCH = "model.part", "training.batch_size"
_FORWARD, _INFERENCE = "forward", "inference"
_OF_MEMORY = ("fault", "cache", "tlb", "mem", "load", "store", "node")
_OF_STORAGE = ("read_bytes", "write_bytes")
_KEYS = ["workload", "settings", "batch_size", "event", "part"]


class Parts(TuningSection):
    """The events of training, of its forward phase, and of inference, side by side."""

    order = 651

    @property
    def applies(self) -> bool:
        """Whether the forward phase and inference were counted separately."""
        return super().applies and bool(self._rows)

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each event and batch size."""
        yield Table(
            "phase_events",
            "Inference against the forward phase of training",
            "Events of the processor a second, the median over epochs of one part alone. The "
            f"factor is inference by the forward phase: 1 is alike. Rates below {FEW:g} a second "
            "mean nothing.",
            (
                Column("name", "Workload"),
                Column("settings", "Settings"),
                Column("batch_size", "Batch size", 0),
                Column("kind", "Of"),
                Column("event", "Event"),
                Column("training_hz", "Training, 1/s", 0),
                Column("forward_hz", "Its forward phase, 1/s", 0),
                Column("inference_hz", "Inference, 1/s", 0),
                Column("factor", "Differs by a factor of", 2),
                *SOURCE_COLUMNS,
            ),
            tuple(self._rows),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield a heat map: events by part and batch size."""
        table = self._medians
        panels = [
            _panel(f"{workload}, {settings}", of_it)
            for (workload, settings), of_it in table.groupby(["workload", "settings"], sort=False)
        ]
        yield from figure_of(
            "phase_events",
            "Events of training, of its forward phase, and of inference",
            "Events a second of the processor, against the mean of the row, on this machine alone "
            "and as many as it counts; the thesis counted on three devices.",
            panels,
        )

    @property
    def _medians(self) -> pd.DataFrame:
        """The median rate of each event by workload, settings, batch size and part."""
        rows = [
            (cell.workload, in_short(settings), batch, event, part, rate)
            for cell in self.measurements.tunings
            if _PART in cell.parameters
            for at, settings, rates in cell.epochs[["row", "settings", "rates"]].itertuples(
                index=False, name=None
            )
            for part, batch in [(cell.parameters[_PART].iloc[at], _batch_size(cell.parameters, at))]
            for event, rate in rates.items()
        ]
        table = pd.DataFrame(rows, columns=[*_KEYS, "rate"])
        return table.groupby(_KEYS, sort=False)["rate"].median().reset_index()

    @property
    def _rows(self) -> list[Row]:
        found = list[Row]()
        for key, group in self._medians.groupby(_KEYS[:-1], sort=False):
            workload, settings, batch, event = cast(tuple[str, str, int, str], key)
            rates = dict(zip(group["part"], group["rate"], strict=True))
            if {_FORWARD, _INFERENCE} <= set(rates):
                logs = [math.log(rates[part] + FEW) for part in (_FORWARD, _INFERENCE)]
                found.append(
                    {
                        "name": workload,
                        "settings": settings,
                        "batch_size": batch,
                        "kind": kind_of(event),
                        "event": event,
                        **{f"{part}_hz": rate for part, rate in rates.items()},
                        "factor": math.exp(abs(logs[1] - logs[0])),
                        "source": "measured",
                    }
                )
        return found


def kind_of(event: str) -> str:
    """Return the kind of an event: memory, storage or processor."""
    if event in _OF_STORAGE:
        return "storage"
    return "memory" if any(word in event for word in _OF_MEMORY) else "processor"


def _batch_size(parameters: pd.DataFrame, at: int) -> int:
    return int(parameters[_BATCH].iloc[at]) if _BATCH in parameters else 0


def _panel(title: str, table: pd.DataFrame) -> Any:
    ordered = sorted(table.to_dict("records"), key=lambda one: (one["batch_size"], one["part"]))
    ordered.sort(key=lambda one: (kind_of(str(one["event"])), one["event"]))
    values = against_row(
        [
            {
                "column": f"{one['part']}, batch {one['batch_size']}",
                "event": f"{one['event']} ({kind_of(str(one['event']))})",
                "rate": one["rate"],
            }
            for one in ordered
        ]
    )
    return heat_map(values, in_order(one["column"] for one in values), None, title)
