"""The searched configurations of two parameters, and their scores."""

from collections.abc import Iterator
from typing import Any, cast

import altair as alt
from pandas.api.types import is_number

from trimtab.evaluation.inputs.tunings import TunedCell, TunedSetting
from trimtab.evaluation.report.figures import Figure, data, hover
from trimtab.evaluation.schedules.section import figure_of
from trimtab.evaluation.tuning.section import TuningSection

_AXIS = alt.Axis(tickCount=4, format="~g", grid=False)
_MOST_NAMED = 9  # trials with a number beside them, as in the thesis


class SearchedConfigurations(TuningSection):
    """Trials in the plane of the two parameters with the most values."""

    order = 638

    def make_figures(self) -> Iterator[Figure]:
        """Yield a plane for each tuner of a setting, of its first search."""
        yield from figure_of(
            "search_space",
            "Where tuners look",
            "Each dot is a configuration of the first search, at the two parameters that took the "
            "most values; its colour is the accuracy on the largest budget that it was given, and "
            "its size that budget. The first nine have their number.",
            [panel for setting in self.settings if (panel := _panel(setting)) is not None],
        )


def _panel(setting: TunedSetting) -> Any:
    tried: dict[str, set[Any]] = {}
    for cell in setting.cells:
        parameters = cell.parameters
        for name in map(str, parameters):
            if not name.startswith("system."):
                numbers = (v for v in parameters[name].dropna() if is_number(v))
                tried.setdefault(name, set()).update(numbers)
    names = sorted(tried, key=lambda name: (-len(tried[name]), name))[:2]
    if len(names) < 2 or len(tried[names[1]]) < 2:
        return None
    axes = [_axis(name, tried[name]) for name in names]
    charts = []
    for cell in setting.cells:
        values = _values(cell, names)
        if not values:
            continue
        base = alt.Chart(data(values)).encode(
            x=alt.X("x:Q", title=_short(names[0]), scale=axes[0], axis=_AXIS),
            y=alt.Y("y:Q", title=_short(names[1]), scale=axes[1], axis=_AXIS),
            tooltip=hover("number", x=".4~g", y=".4~g", accuracy_pct=".2f", epochs="d"),
        )
        accuracies = [value["accuracy_pct"] for value in values]
        marks = base.mark_point(filled=True, opacity=0.9).encode(
            color=alt.Color("accuracy_pct:Q", scale=alt.Scale(scheme="goldred"),
                            legend=alt.Legend(title="Accuracy, %")),
            size=alt.Size("epochs:Q", scale=alt.Scale(range=[40, 220]), legend=None),
        )  # fmt: skip
        named = base.mark_text(dx=11, dy=-7, fontSize=10).encode(text="number:N")
        first = [value for value in values if value["number"] <= _MOST_NAMED]
        named = named.properties(data=data(first))
        best = f"best {max(accuracies):.1f} %"
        charts.append(
            alt.layer(marks, named).properties(width=210, height=190, title=f"{cell.label}, {best}")
        )
    return alt.concat(*charts, columns=3, title=alt.TitleParams(setting.label)) if charts else None


def _values(cell: TunedCell, names: list[str]) -> list[dict[str, Any]]:
    first = cell.searches[0].trials
    rows = first[first["score"].notna()].sort_values(["epochs", "data_fraction"])
    last = rows.groupby(["fold", "trial"]).tail(1)
    parameters = cell.parameters.loc[last.index]
    found = []
    for (_, row), (_, values) in zip(last.iterrows(), parameters.iterrows(), strict=True):
        x, y = (values.get(name) for name in names)  # NaN for an architecture without it
        if all(is_number(value) and value == value for value in (x, y)):
            found.append(
                {
                    "number": int(row["trial"]) + 1,
                    "x": float(cast(float, x)),
                    "y": float(cast(float, y)),
                    "accuracy_pct": 100 * float(row["accuracy"]),
                    "epochs": int(row["epochs"]),
                }
            )
    return found


def _axis(name: str, values: set[Any]) -> Any:
    """Return a logarithmic scale where values span more than a power of ten."""
    spans = min(values) > 0 and max(values) / min(values) > 10
    domain = [float(min(values)), float(max(values))]
    return alt.Scale(type="log" if spans else "linear", domain=domain, nice=False, padding=14)


def _short(name: str) -> str:
    return name.partition(".")[2].replace("_", " ")
