"""The cost of inference, and the choices of tuners that know it."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.tunings import TunedCell, TunedSetting, values_in
from trimtab.evaluation.report.figures import INK, Figure, data, hover, in_order
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table, number
from trimtab.evaluation.schedules.section import figure_of, palette_colour
from trimtab.evaluation.tuning.best_configurations import format_parameter_name
from trimtab.evaluation.tuning.section import WHO, TuningSection, who

_COST = {
    "throughput_hz": ("Throughput, samples/s", 1),
    "inference_j": ("Energy, J a sample", 6),
}
_PANELS = {
    "tuning_s": "Tuning, s",
    "tuning_kj": "Energy of training, kJ",
    "throughput_hz": "Throughput, samples/s",
    "inference_j": "Inference, J a sample",
}


class Inference(TuningSection):
    """The measured configurations of inference, and those of the best models."""

    order = 645

    @property
    def applies(self) -> bool:
        """Whether any tuner knew the cost of inference."""
        return super().applies and any(
            cell.trials["inference_s"].notna().any() or not cell.inference.empty
            for cell in self.measurements.tunings
        )

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each architecture and inference configuration."""
        yield Table(
            "inference_measured",
            "Inference that was measured",
            "On CPUs of its own, beside the training: the time of a sample by whole batches.",
            (
                *WHO,
                Column("architecture", "Architecture"),
                Column("configuration", "Configuration"),
                Column("inference_s", "s a sample", 6),
                *(Column(key, *said) for key, said in _COST.items()),
                Column("energy_source", "Energy"),
                Column("failure", "Failure"),
                *SOURCE_COLUMNS,
            ),
            tuple(row for cell in self.measurements.tunings for row in _measured(cell)),
            missing="No tuner measured the model's use.",
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the effects of batch size, cores and architecture on inference, and the results."""
        panels = [
            panel
            for cell in _one_each(self.measurements.tunings)
            if (panel := _effects(cell)) is not None
        ]
        yield from figure_of(
            "inference_effects",
            "What batch size, cores and architecture do to inference",
            "Each dot is a configuration that was measured while training went on, on CPUs of "
            "its own. A line joins the dots of one architecture and number of cores.",
            panels,
        )
        by_workload: dict[tuple[str, str], list[TunedSetting]] = {}
        for setting in self.settings:
            first = setting.cells[0]
            by_workload.setdefault((first.workload, first.hardware), []).append(setting)
        yield from figure_of(
            "deployed",
            "Cost of tuning, and the deployed configuration",
            "By tuner and objective, a bar the median of its searches and a dot each of them: the "
            "whole search's time and energy of training, and the best model's use under the set-up "
            "that was found for it. A tuner without inference has no set-up.",
            [_deployed(settings) for settings in by_workload.values()],
        )


def _measured(cell: TunedCell) -> Iterator[Row]:
    for row in cell.inference.to_dict("records"):
        seconds = number(row["inference_s"])
        yield {
            **who(cell),
            "architecture": format_parameter_name(row["architecture"]) or "the model",
            "configuration": format_parameter_name(row["configuration"]),
            "inference_s": seconds,
            "throughput_hz": 1 / seconds if seconds else None,
            "inference_j": number(row["inference_j"]),
            "energy_source": row["energy_source"],
            "failure": row["failure"],
            "source": "measured",
        }


def _one_each(cells: tuple[TunedCell, ...]) -> list[TunedCell]:
    """Return, for each workload and machine, the cell with the most measurements."""
    most: dict[tuple[str, str], TunedCell] = {}
    for cell in cells:
        key = (cell.workload, cell.hardware)
        if key not in most or len(cell.inference) > len(most[key].inference):
            most[key] = cell
    return list(most.values())


def _effects(cell: TunedCell) -> Any:
    values = []
    for row, said in zip(cell.inference.to_dict("records"), _measured(cell), strict=True):
        asked = values_in(row["configuration"])
        if said["throughput_hz"] is not None:
            cores = asked.get("cores")
            values.append(
                {
                    "batch": asked.get("batch_size", 1),
                    "line": ", ".join(
                        [str(said["architecture"])]
                        + ([f"{cores} core{'s' if cores != 1 else ''}"] if cores else [])
                    ),
                    "configuration": said["configuration"],
                    **{key: said[key] for key in _COST},
                }
            )
    if not values:
        return None
    lines = sorted(in_order(value["line"] for value in values))
    ticks = sorted({value["batch"] for value in values})
    charts = [
        alt.Chart(data([value for value in values if value[key] is not None]))
        .mark_line(point=True)
        .encode(
            x=alt.X("batch:Q", title="Inference batch size",
                    scale=alt.Scale(type="symlog"), axis=alt.Axis(values=ticks, format="d")),
            y=alt.Y(f"{key}:Q", title=heading),
            color=palette_colour("line", lines, "Model"),
            tooltip=hover("configuration", throughput_hz=",.1f", inference_j=".4~g"),
        )
        .properties(width=300, height=210)
        for key, (heading, _) in _COST.items()
    ]  # fmt: skip
    sources = " and ".join(sorted(set(cell.inference["energy_source"])))
    return alt.hconcat(*charts, title=alt.TitleParams(f"{cell.workload} (energy {sources})"))


def _deployed(settings: list[TunedSetting]) -> Any:
    dots = [
        {"tuner": cell.label, "objective": cell.objective, "seed": search.seed, "key": key,
         "value": value}
        for setting in settings
        for cell in setting.cells
        for search in cell.searches
        for key, value in _values(search).items()
        if value is not None
    ]  # fmt: skip
    tuners = in_order(cell.label for setting in settings for cell in setting.cells)
    objectives = in_order(setting.cells[0].objective for setting in settings)
    charts = []
    for key, heading in _PANELS.items():
        base = alt.Chart(data([dot for dot in dots if dot["key"] == key])).encode(
            x=alt.X("tuner:N", sort=tuners, scale=alt.Scale(domain=tuners), title=None,
                    axis=alt.Axis(labelAngle=-30)),
            xOffset=alt.XOffset("objective:N", scale=alt.Scale(domain=objectives)),
        )  # fmt: skip
        bars = base.mark_bar().encode(
            y=alt.Y("median(value):Q", title=heading),
            color=palette_colour("objective", objectives, "Objective"),
        )
        points = base.mark_point(filled=True, color=INK, size=18).encode(
            y="value:Q", tooltip=hover("tuner", "objective", "seed", value=".4~g")
        )
        width = 40 + 22 * len(tuners) * (1 + len(objectives))
        charts.append(alt.layer(bars, points).properties(width=width, height=170))
    first = settings[0].cells[0]
    source = " and ".join(in_order(c.energy_source for s in settings for c in s.cells))
    return alt.concat(
        *charts, columns=2, title=alt.TitleParams(f"{first.workload} (energy {source})")
    )


def _values(search: Any) -> dict[str, float | None]:
    best = search.best
    seconds = None if best is None else number(best["inference_s"])
    return {
        "tuning_s": search.tuning_s,
        "tuning_kj": search.energy_j / 1e3,
        "throughput_hz": 1 / seconds if seconds else None,
        "inference_j": None if best is None else number(best["inference_j"]),
    }
