"""Line charts of run times over a varied number, for ours and the authors'."""

from collections.abc import Iterable, Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.protection.section import AUTHORS, RUN_HERE, SIMULATED, WITH_TASKS
from trimtab.evaluation.report.figures import INK, Figure, data, hover, in_order, scaled
from trimtab.evaluation.report.tables import Row
from trimtab.evaluation.schedules.section import figure_of, palette_colour

_DASHES = {RUN_HERE: [1, 0], SIMULATED: [6, 3], AUTHORS: [2, 2]}


def lines_figure(
    name: str, title: str, caption: str, rows: Iterable[Row], key: str, axis: str
) -> Iterator[Figure]:
    """Yield the run times of `rows` over `key`, both relative to the least `key` of each line.

    A line is an enclave: run here, simulated, or the authors'. A panel is a program's variant with
    tasks. Lines of one point are left out.
    """
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        line = (row["name"], row["variant"], row["enclave"], row["how"], row["hardware"])
        lines.setdefault(line, []).append(row)
    values = []
    for (program, variant, enclave, how, _), points in lines.items():
        points.sort(key=lambda row: row[key])  # type: ignore[arg-type, return-value]
        if variant not in WITH_TASKS or len({row[key] for row in points}) < 2:
            continue
        first = points[0]
        values += [
            {
                "program": program,
                "variant": variant,
                "enclave": enclave,
                "how": how,
                "x": _ratio(row[key], first[key]),
                "at": str(row[key]),
                "y": _ratio(row["run_s"], first["run_s"]),
            }
            for row in points
        ]
    panels = [
        _panel([value for value in values if value["program"] == program], str(program), axis)
        for program in in_order(value["program"] for value in values)
    ]
    words = "Times of the least number; solid lines were run here, dashed ones are simulated, "
    yield from figure_of(name, title, f"{caption} {words}dotted ones the authors'.", panels)


def _ratio(value: Any, first: Any) -> float:
    return float(value) / float(first)


def _panel(values: list[dict[str, Any]], program: str, axis: str) -> Any:
    enclaves = in_order(value["enclave"] for value in values)
    hows = [how for how in _DASHES if any(value["how"] == how for value in values)]
    at = sorted({value["x"] for value in values})
    legend = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolSize=300, symbolStrokeColor=INK
    )
    return (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "x:Q",
                title=f"{axis}, times the least",
                scale=alt.Scale(type="log", base=2),
                axis=alt.Axis(values=at),
            ),
            y=alt.Y(
                "y:Q",
                title="Run time, times the first",
                scale=alt.Scale(type="log", base=2),
                axis=alt.Axis(tickCount=6),
            ),
            color=palette_colour("enclave", enclaves, "Enclave"),
            strokeDash=scaled(
                alt.StrokeDash, "how:N", hows, [_DASHES[how] for how in hows], legend=legend
            ),
            column=alt.Column("variant:N", sort=list(WITH_TASKS), title=None, spacing=16),
            tooltip=hover("enclave", "how", "at", y=".3f"),
        )
        .properties(width=210, height=180, title=program)
    )
