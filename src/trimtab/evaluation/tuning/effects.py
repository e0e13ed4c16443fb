"""The effect of one parameter on training, from trials that differ only in it."""

from collections.abc import Iterator
from typing import Any, cast

import altair as alt
import pandas as pd
from pandas.api.types import is_number

from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.evaluation.report.figures import AFTER, INK, Figure, data, hover, in_order
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table, number
from trimtab.evaluation.schedules.section import figure_of, palette_colour, zero_line
from trimtab.evaluation.tuning.section import WHO, TuningSection, who

_CORES = "system.cores"
_BUDGET = ["seed", "fold", "epochs", "data_fraction"]
_CHANGES = {
    "accuracy_points": "Accuracy, points",
    "training_change_pct": "Training time, %",
    "energy_change_pct": "Energy, %",
}


class ParameterEffects(TuningSection):
    """The difference between two values of a parameter, all else equal."""

    order = 636

    @property
    def applies(self) -> bool:
        """Whether any two trials differ in only one parameter."""
        return super().applies and bool(self._rows)

    @property
    def _rows(self) -> list[Row]:
        return [row for cell in self.measurements.tunings for row in _effects(cell)]

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each value of a parameter, for each combination of all others."""
        yield Table(
            "parameter_effects",
            "What one parameter does",
            "Trials of the same search and budget that differ in one parameter alone, against the "
            "first value of it that was tried beside the others; the median over searches.",
            (
                *WHO,
                Column("parameter", "Parameter"),
                Column("value", "Value"),
                Column("against", "Against"),
                Column("beside", "Beside"),
                Column("pairs", "Pairs", 0),
                *(Column(key, heading, 1) for key, heading in _CHANGES.items()),
                Column("energy_source", "Energy"),
                *SOURCE_COLUMNS,
            ),
            tuple(self._rows),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the effects of hyperparameters, and of cores for each of their values."""
        groups = [(cell, list(_effects(cell))) for cell in self.measurements.tunings]
        yield from figure_of(
            "parameter_effects",
            "What one parameter does to a training",
            "Trials that differ in this parameter alone, each beside other values of the rest (a "
            "dot), and their median (a bar), against the lowest value. Below zero is less.",
            [
                _panel(cell, name, [row for row in rows if row["parameter"] == name])
                for cell, rows in groups
                for name in in_order(row["parameter"] for row in rows)
                if name != _CORES
            ],
        )
        yield from figure_of(
            "core_effects",
            "What cores do to a training",
            "Time and energy on more cores against the fewest, beside each value of the other "
            "parameters. Below zero is less.",
            [
                _lines(cell, of_cores)
                for cell, rows in groups
                if (of_cores := [row for row in rows if row["parameter"] == _CORES])
            ],
        )


def _effects(cell: TunedCell) -> Iterator[Row]:
    parameters = cell.parameters
    names = [str(name) for name in parameters if parameters[name].nunique() > 1]
    good = cell.trials["score"].notna()
    table = pd.concat([cell.trials, parameters], axis=1)[good]
    for name in names:
        if not all(is_number(value) for value in table[name].dropna()):
            continue
        others = [other for other in names if other != name]
        found = [
            row
            for _, group in table.groupby([*_BUDGET, *others], dropna=False)
            for row in _against_first(group.drop_duplicates(name).sort_values(name), name, others)
        ]
        by = ["value", "against", "beside"]
        for key, pairs in pd.DataFrame(found, columns=[*by, *_CHANGES]).groupby(by):
            value, against, beside = cast(tuple[float, float, str], key)
            yield {
                **who(cell), "parameter": name, "value": value, "against": against,
                "beside": beside, "pairs": len(pairs),
                **{change: number(pairs[change].median()) for change in _CHANGES},
                "energy_source": cell.energy_source, "source": "measured",
            }  # fmt: skip


def _against_first(group: pd.DataFrame, name: str, others: list[str]) -> Iterator[dict[str, Any]]:
    if len(group) < 2:
        return
    first = group.iloc[0]
    beside = ", ".join(
        f"{_short(other)} {f'{first[other]:g}' if is_number(first[other]) else first[other]}"
        for other in others
    )
    for _, row in group.iloc[1:].iterrows():
        yield {
            "value": float(row[name]),
            "against": float(first[name]),
            "beside": beside,
            "accuracy_points": 100 * (row["accuracy"] - first["accuracy"]),
            "training_change_pct": _change_pct(first["training_s"], row["training_s"]),
            "energy_change_pct": _change_pct(first["training_j"], row["training_j"]),
        }


def _change_pct(before: float, after: float) -> float | None:
    return 100 * (after / before - 1) if before else None


def _by_numbers(text: str) -> list[tuple[bool, float, str]]:
    """Return a key that sorts "batch size 64" before "batch size 256"."""
    return [
        (True, float(word), "") if word.replace(".", "", 1).isdigit() else (False, 0.0, word)
        for word in text.replace(",", "").split()
    ]


def _short(name: str) -> str:
    return name.partition(".")[2].replace("_", " ")


def _panel(cell: TunedCell, name: str, rows: list[Row]) -> Any:
    values = [
        {"value": f"{row['value']:g}", "beside": row["beside"], "change": row[key], "what": heading}
        for row in rows
        for key, heading in _CHANGES.items()
        if row[key] is not None
    ]
    order = [f"{value:g}" for value in sorted({row["value"] for row in rows})]  # type: ignore[type-var]
    x = alt.X("value:N", sort=order, title=_short(name), axis=alt.Axis(labelAngle=0))
    charts = []
    for heading in _CHANGES.values():
        of_it = [value for value in values if value["what"] == heading]
        bars = alt.Chart(data(of_it)).mark_bar(opacity=0.75).encode(
            x=x, y=alt.Y("median(change):Q", title=heading), color=alt.value(AFTER))  # fmt: skip
        dots = alt.Chart(data(of_it)).mark_point(filled=True, size=18, color=INK).encode(
            x=x, y="change:Q", tooltip=hover("value", "beside", change="+.2f"))  # fmt: skip
        chart = alt.layer(bars, dots, zero_line("y"))
        charts.append(chart.properties(width=60 + 40 * len(order), height=180))
    return alt.hconcat(*charts, title=alt.TitleParams(_title(cell, rows)))


def _lines(cell: TunedCell, rows: list[Row]) -> Any:
    first = min(float(row["against"]) for row in rows)  # type: ignore[arg-type]
    changes = {key: _CHANGES[key] for key in ("training_change_pct", "energy_change_pct")}
    beside = sorted(in_order(str(row["beside"]) for row in rows), key=_by_numbers)
    charts = []
    for key, heading in changes.items():
        values = [
            {"cores": row["value"], "beside": row["beside"], "change": row[key]}
            for row in rows
            if row[key] is not None
        ] + [{"cores": first, "beside": one, "change": 0.0} for one in beside]
        ticks = sorted({value["cores"] for value in values})
        charts.append(
            alt.layer(
                alt.Chart(data(values)).mark_line(point=True).encode(
                    x=alt.X("cores:Q", title="Cores", axis=alt.Axis(values=ticks, format="d")),
                    y=alt.Y("change:Q", title=heading),
                    color=palette_colour("beside", beside, "Beside"),
                    tooltip=hover("beside", cores="d", change="+.1f"),
                ),
                zero_line("y"),
            ).properties(width=300, height=200)
        )  # fmt: skip
    return alt.hconcat(*charts, title=alt.TitleParams(_title(cell, rows)))


def _title(cell: TunedCell, rows: list[Row]) -> str:
    first = min(float(row["against"]) for row in rows)  # type: ignore[arg-type]
    return (
        f"{cell.workload}, against {_short(str(rows[0]['parameter']))} {first:g} "
        f"(energy {cell.energy_source})"
    )
