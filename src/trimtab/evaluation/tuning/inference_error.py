"""The percent error of the inference tuning server.

Rocha's thesis, section 7.5.4. "Told" values were measured beside training; "empirical" ones are of
the same configuration on this machine, with nothing beside it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.evaluation.report.figures import AFTER, INK, Figure, data, hover, in_order
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table, Value
from trimtab.evaluation.schedules.section import figure_of
from trimtab.evaluation.tuning.best_configurations import format_parameter_name
from trimtab.evaluation.tuning.section import WHO, TuningSection, who

_CASE = ["architecture", "configuration"]
_ERRORS = {"throughput_error_pct": "Throughput", "energy_error_pct": "Energy"}


class InferenceError(TuningSection):
    """The server's value of each configuration, and the value measured alone."""

    order = 646

    @property
    def applies(self) -> bool:
        """Whether any of the server's configurations was measured again alone."""
        return super().applies and bool(self._rows)

    @property
    def _rows(self) -> list[Row]:
        return [row for cell in self.measurements.tunings for row in _errors(cell)]

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each configuration."""
        yield Table(
            "inference_error",
            "Inference costs: told by the tuning server, and measured alone",
            "Told: measured in a search, possibly beside training on other CPUs. Alone: the "
            "median of several rounds with nothing beside it, and half of their range. The "
            "error is the difference, divided by the value alone.",
            (
                *WHO,
                Column("architecture", "Architecture"),
                Column("configuration", "Configuration"),
                Column("told_s", "Told, s a sample", 6),
                Column("alone_s", "Alone, s a sample", 6),
                Column("alone_spread_pct", "Alone, varies by %", 1),
                Column("throughput_error_pct", "Error of throughput, %", 1),
                Column("energy_error_pct", "Error of energy, %", 1),
                Column("energy_source", "Energy"),
                *SOURCE_COLUMNS,
            ),
            tuple(self._rows),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the errors as boxes with whiskers, by workload."""
        rows = self._rows
        yield from figure_of(
            "inference_error",
            "Error of the inference tuning server",
            "A box from the first to the third quartile of all configurations with their median, "
            "whiskers to the least and the most, and a dot for each. Empirical is this machine "
            "with nothing beside, where the thesis has an edge device; it states errors of at most "
            "20 % (published; section 2.4). Energy is "
            f"{' and '.join(in_order(row['energy_source'] for row in rows))}.",
            [_panel(rows)],
        )


def _errors(cell: TunedCell) -> Iterator[Row]:
    alone = cell.alone[cell.alone["failure"] == ""]
    by_case: Mapping[Any, pd.DataFrame] = dict(list(alone.groupby(_CASE, sort=False)))
    for told in cell.inference[cell.inference["failure"] == ""].to_dict("records"):
        rounds = by_case.get(tuple(told[key] for key in _CASE))
        if rounds is None:
            continue
        times = rounds["inference_s"].astype(float)
        row: dict[str, Value] = {
            **who(cell),
            "architecture": format_parameter_name(told["architecture"]) or "the model",
            "configuration": format_parameter_name(told["configuration"]),
            "told_s": told["inference_s"],
            "alone_s": times.median(),
            "alone_spread_pct": 50 * (times.max() - times.min()) / times.median(),
            "throughput_error_pct": _percent(1 / times.median(), 1 / told["inference_s"]),
            "energy_source": told["energy_source"],
            "source": "measured",
        }
        joules = rounds["inference_j"].astype(float).median()
        if joules > 0 and told["inference_j"] == told["inference_j"]:
            row["energy_error_pct"] = _percent(joules, told["inference_j"])
        yield row


def _percent(empirical: float, told: float) -> float:
    return 100 * abs(empirical - told) / empirical


def _panel(rows: list[Row]) -> Any:
    values = [
        {"what": what, "which": f"{row['workload']}, {row['name']}", "error": row[key],
         "said": f"{row['architecture']}, {row['configuration']}"}
        for row in rows
        for key, what in _ERRORS.items()
        if row.get(key) is not None
    ]  # fmt: skip
    which = in_order(value["which"] for value in values)
    axis = alt.Axis(labelAngle=-20, labelLimit=300)
    charts = []
    for what in in_order(value["what"] for value in values):
        base = alt.Chart(data([value for value in values if value["what"] == what])).encode(
            x=alt.X("which:N", sort=which, title=None, axis=axis),
            y=alt.Y("error:Q", title=f"{what}, percent error"),
        )
        boxes = base.mark_boxplot(extent="min-max", size=30, color=AFTER, opacity=0.5)
        dots = base.mark_point(filled=True, size=18, color=INK).encode(
            tooltip=hover("which", "said", error=".1f")
        )
        charts.append(alt.layer(boxes, dots).properties(width=90 + 90 * len(which), height=220))
    return alt.hconcat(*charts)
