"""Single trials: their ends, their costs, and their budgets."""

from collections.abc import Iterator
from typing import Any, cast

import altair as alt

from trimtab.evaluation.inputs.tunings import TunedCell, TunedSetting
from trimtab.evaluation.report.figures import Figure, data, hover
from trimtab.evaluation.schedules.section import figure_of, palette_colour
from trimtab.evaluation.tuning.section import TuningSection


class Trials(TuningSection):
    """The trials of all tuners of a setting, in their order."""

    order = 635

    def make_figures(self) -> Iterator[Figure]:
        """Yield the cost of epochs over the tuning time, trials in order, and their budgets."""
        yield from figure_of(
            "trials_over_tuning_time",
            "How fast trials train",
            "Each dot is a trial on a rung, at its end: the seconds of its training for each epoch "
            "over all data. Lower is faster.",
            [_panel(setting, "ended_s", "Tuning time, s", ("epoch_s",)) for setting in
             self.settings],
        )  # fmt: skip
        yield from figure_of(
            "trials_in_order",
            "Accuracy and training time, trial after trial",
            "Each dot is a trial on a rung, in the order in which they ended; its training counts "
            "from the trial's first epoch.",
            [_panel(setting, "number", "Trials ended", ("accuracy_pct", "training_s")) for setting
             in self.settings],
        )  # fmt: skip
        yield from figure_of(
            "budgets",
            "What trials are trained with",
            "Each circle is a rung: its epochs and share of the data, the larger the more "
            "trials were judged there; the number beside it counts them.",
            map(_budgets, self.settings),
        )


_HEADINGS = {
    "epoch_s": "Seconds an epoch",
    "accuracy_pct": "Accuracy, %",
    "training_s": "Training, s",
}


def _rows(cell: TunedCell) -> Iterator[dict[str, Any]]:
    for search in cell.searches:
        ended = search.trials.sort_values(["ended_s", "fold", "trial", "rung"])
        for number, (_, row) in enumerate(ended.iterrows(), start=1):
            work = row["epochs"] * row["data_fraction"]
            if row["score"] == row["score"] and row["score"] is not None and work:
                yield {
                    "tuner": cell.label,
                    "search": f"{cell.label}, seed {search.seed}",
                    "number": number,
                    "ended_s": float(row["ended_s"]),
                    "accuracy_pct": 100 * float(row["accuracy"]),
                    "training_s": float(row["training_s"]),
                    "epoch_s": float(row["training_s"]) / work,
                }


def _panel(setting: TunedSetting, x: str, heading: str, keys: tuple[str, ...]) -> Any:
    values = [row for cell in setting.cells for row in _rows(cell)]
    tuners = [cell.label for cell in setting.cells]
    charts = [
        alt.Chart(data(values))
        .mark_point(filled=True, size=26, opacity=0.75)
        .encode(
            x=alt.X(f"{x}:Q", title=heading),
            y=alt.Y(f"{key}:Q", title=_HEADINGS[key], scale=alt.Scale(zero=key != "accuracy_pct")),
            color=palette_colour("tuner", tuners, "Tuner"),
            tooltip=hover("search", ended_s=",.1f", accuracy_pct=".2f", training_s=",.1f"),
        )
        .properties(width=520 if len(keys) == 1 else 320, height=220)
        for key in keys
    ]
    return alt.hconcat(*charts, title=alt.TitleParams(setting.label))


def _budgets(setting: TunedSetting) -> Any:
    charts = []
    tuners = [cell.label for cell in setting.cells]
    most = max(int(cell.trials["epochs"].max()) for cell in setting.cells)
    for cell in setting.cells:
        counted = cell.trials.groupby(["epochs", "data_fraction"]).size()
        values = [
            {
                "tuner": cell.label,
                "epochs": epochs,
                "data_pct": 100 * fraction,
                "trials": int(count),
            }
            for (epochs, fraction), count in cast(Any, counted).items()
            if epochs
        ]
        base = alt.Chart(data(values)).encode(
            x=alt.X("epochs:Q", title="Epochs", scale=alt.Scale(domain=[0, most + 0.5]),
                    axis=alt.Axis(format="d", tickMinStep=1)),
            y=alt.Y("data_pct:Q", title="Data, %", scale=alt.Scale(domain=[0, 108])),
            tooltip=hover("tuner", epochs="d", data_pct=".0f", trials="d"),
        )  # fmt: skip
        marks = base.mark_point(filled=True, opacity=0.6).encode(
            size=alt.Size("trials:Q", scale=alt.Scale(range=[60, 500]), legend=None),
            color=palette_colour("tuner", tuners, "Tuner"),
        )
        words = base.mark_text(dx=16, fontSize=11).encode(text="trials:Q")
        charts.append(alt.layer(marks, words).properties(width=180, height=160, title=cell.label))
    return alt.concat(*charts, columns=4, title=alt.TitleParams(setting.label))
