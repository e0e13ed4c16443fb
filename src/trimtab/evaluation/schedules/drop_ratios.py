"""The effect of dropped tasks on time."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import Cell, CellGroup
from trimtab.evaluation.report.figures import Figure, data, hover, in_order, scaled
from trimtab.evaluation.report.published import published
from trimtab.evaluation.schedules.section import ScheduleSection, class_colour, figure_of
from trimtab.records.figures import ResponseFigures

_WAYS = ("formula", "simulated", "real")
_RESPONSE = {"response_mean_s": "mean", "response_p95_s": "95th percentile"}


class DropRatios(ScheduleSection):
    """Time over the drop ratio, if policies of a setting differ in it."""

    order = 770

    def make_figures(self) -> Iterator[Figure]:
        """Processing and response time."""
        panels = [
            (setting, title, cells)
            for setting in self.charted.settings
            for title, cells in series(setting)
        ]
        errors = [row.number("formula_real_error_pct") for row in published("agreement")]
        execution = [
            _panel(setting, title, _own(cells), {"execution_mean_s": "mean"}, "Processing time, s")
            for setting, title, cells in panels
        ]
        response = [
            _panel(setting, title, _lowest(setting, cells), _RESPONSE, "Response time, s")
            for setting, title, cells in panels
        ]
        yield from figure_of(
            "processing_by_drop_ratio",
            "Processing time and drop ratio",
            "Mean processing time of the classes that drop tasks, over their own drop ratio: by "
            "formula, simulated and, if it ran, for real. Published: mean errors of the formula "
            f"of {errors[0]:g} and {errors[1]:g} %.",
            execution,
        )
        yield from figure_of(
            "response_by_drop_ratio",
            "Response time and drop ratio",
            "Response time of every class over the drop ratio of the lowest: by formula, "
            "simulated and, where it was run, for real. Policies that evict, or that sprint, "
            "have panels of their own. Published: a mean error of the formula of "
            f"{errors[2]:g} %.",
            response,
        )


def series(setting: CellGroup) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the cells that differ only in drop ratios, not in evicting or sprinting."""
    groups: dict[tuple[bool, bool], list[Cell]] = {}
    for cell in setting.cells:
        numbers = cell.classes.values()
        how = any(of.evictions > 0 for of in numbers), any(of.sprint_s > 0 for of in numbers)
        groups.setdefault(how, []).append(cell)
    for (evicts, sprints), cells in groups.items():
        if len({tuple(of.drop_ratio for of in cell.classes.values()) for cell in cells}) > 1:
            said = [word for word, so in (("evicting", evicts), ("sprinting", sprints)) if so]
            yield ", ".join([setting.label, *said]), cells


def _own(cells: list[Cell]) -> Iterator[tuple[Cell, str, float]]:
    for name in in_order(name for cell in cells for name in cell.classes):
        ratios = [(cell, cell.classes[name].drop_ratio) for cell in cells if name in cell.classes]
        if len({ratio for _, ratio in ratios}) > 1:
            yield from ((cell, name, ratio) for cell, ratio in ratios)


def _lowest(setting: CellGroup, cells: list[Cell]) -> Iterator[tuple[Cell, str, float]]:
    lowest = setting.classes[-1]
    for cell in cells:
        for name in cell.classes:
            yield cell, name, cell.classes[lowest].drop_ratio


def _ways(cell: Cell) -> Iterator[tuple[str, Mapping[str, ResponseFigures]]]:
    if cell.formula:
        yield "formula", cell.formula.classes
    yield "simulated", cell.classes
    if cell.real:
        yield "real", cell.real.classes


def _panel(
    setting: CellGroup,
    title: str,
    points: Iterator[tuple[Cell, str, float]],
    measures: dict[str, str],
    axis: str,
) -> Any:
    values = [
        {
            "policy": cell.label,
            "job_class": name,
            "drop_ratio": ratio,
            "way": way,
            "measure": measure,
            "seconds": seconds,
        }
        for cell, name, ratio in points
        for way, classes in _ways(cell)
        for key, measure in measures.items()
        if (seconds := getattr(classes.get(name), key, None)) is not None
    ]
    base = (
        alt.Chart(data(values))
        .encode(
            x=alt.X("drop_ratio:Q", title="Drop ratio", axis=alt.Axis(format="%")),
            y=alt.Y("seconds:Q", title=axis),
            color=class_colour(setting.classes),
            tooltip=hover(
                *("policy", "job_class", "way", "measure"), drop_ratio=".0%", seconds=",.2f"
            ),
        )
        .properties(width=340, height=220)
    )
    legend = alt.Legend(title=None, orient="top", symbolStrokeColor="#334155")
    dash = scaled(alt.StrokeDash, "way:N", _WAYS, ([6, 4], [1, 0], [2, 3]), legend=legend)
    shapes = ("square", "circle", "triangle-up")
    shape = scaled(alt.Shape, "way:N", _WAYS, shapes, legend=legend)
    lines = base.mark_line().encode(strokeDash=dash)
    marks = base.mark_point(size=55, filled=True, opacity=1).encode(shape=shape)
    facets = [
        alt.layer(lines, marks)
        .transform_filter(alt.FieldEqualPredicate(field="measure", equal=measure))
        .properties(title=measure)
        for measure in measures.values()
    ]
    return alt.hconcat(*facets, title=alt.TitleParams(title)).resolve_scale(y="independent")
