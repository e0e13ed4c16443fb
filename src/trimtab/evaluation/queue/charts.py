"""The figures of a queue's report: waits, use over time, waits by width."""

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from trimtab.evaluation.queue.results import QueueResults
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    GPU_COLOUR,
    HIGHLIGHT,
    Figure,
    data,
    hover,
    in_order,
    scaled,
    specification,
)
from trimtab.records.batch.comparison import RECORDED

Numbers = NDArray[np.float64]
_WIDTH_PX = 640
_POINTS = 200  # of a line
_SHORTEST_S = 1.0  # waits below are drawn there
_COLOURS = (AFTER, HIGHLIGHT, GPU_COLOUR, "#be185d", "#0369a1", "#65a30d", "#7c3aed", "#a16207")
_TICKS_S = (1, 10, 60, 600, 3600, 21_600, 86_400, 604_800, 2_592_000)
_TICK = (
    "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' :"
    " datum.value < 86400 ? datum.value / 3600 + ' h' : datum.value / 86400 + ' d'"
)


def charts_of(results: QueueResults) -> Iterator[Figure]:
    """Yield the figures of a queue under several policies."""
    yield _distribution(results)
    yield _over_time(results)
    yield _by_width(results)


def _distribution(results: QueueResults) -> Figure:
    shares = np.linspace(0.0, 1.0, _POINTS + 1)
    counted = results.jobs["counted"]
    rows = [
        {"policy": name, "wait_s": max(_SHORTEST_S, float(value)), "share": float(share)}
        for name, waits in results.wait_s().items()
        for value, share in zip(
            np.quantile(waits[counted], shares, method="inverted_cdf"), shares, strict=True
        )
    ]
    lines = (
        alt.Chart(data(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("wait_s:Q", title="wait", scale=alt.Scale(type="log"), axis=_time_axis()),
            y=alt.Y("share:Q", title="share of jobs", axis=alt.Axis(format="%")),
            color=_colour(results),
            tooltip=hover("policy", wait_s=",.0f", share=".1%"),
        )
    )
    return Figure(
        "waits",
        "How long jobs wait",
        "The share of counted jobs that wait at most so long; waits below 1 s are drawn at 1 s.",
        specification(lines.properties(width=_WIDTH_PX, height=280)),
    )


def _over_time(results: QueueResults) -> Figure:
    end_s = max(float(each["end_s"].max()) for each in results.schedules.values())
    begin_s = float(results.jobs["submit_s"].min())
    edges = np.linspace(begin_s, max(end_s, begin_s + 1.0), _POINTS + 1)
    time_unit, unit_s = ("h", 3600.0) if end_s < 4 * 86400 else ("d", 86400.0)
    jobs, nodes = results.jobs, results.document.nodes
    units = {"cores in use": "cpu_milli", "GPUs in use": "gpu_milli"}
    sizes = {
        what: sum(each.nodes * getattr(each, unit) for each in nodes)
        for what, unit in units.items()
    }
    panels: dict[str, list[dict[str, Any]]] = {}
    for name, wait_s in results.wait_s().items():
        lines = {}
        if name in results.schedules:
            each = results.runs[name]
            of_run = jobs.set_index("job").loc[each["job"]]
            for what, unit in units.items():
                if sizes[what]:
                    width = each["parts"].to_numpy() * of_run[unit].to_numpy()
                    busy = mean_between(edges, each["start_s"], each["end_s"], width)
                    lines[what] = busy / sizes[what]
        known = wait_s.notna()
        submit_s = jobs["submit_s"][known]
        lines["waiting jobs"] = mean_between(
            edges, submit_s, submit_s + wait_s[known], known[known]
        )
        for what, values in lines.items():
            panels.setdefault(what, []).extend(
                {"policy": name, "time": round(float(at_s) / unit_s, 4), "value": float(value)}
                for at_s, value in zip(edges[:-1], values, strict=True)
            )
    charts = [
        alt.Chart(data(rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=alt.X("time:Q", title=f"since the first submission, {time_unit}"),
            y=alt.Y("value:Q", title=what, axis=alt.Axis(format="%" if what in sizes else "~s")),
            color=_colour(results),
            tooltip=hover("policy", time=",.2f", value=".1%" if what in sizes else ",.1f"),
        )
        .properties(width=_WIDTH_PX, height=150)
        for what, rows in sorted(panels.items(), key=lambda panel: panel[0] not in sizes)
    ]
    return Figure(
        "over_time",
        "Use of the nodes, and the queue",
        f"Means of {_POINTS} equal spans of time.",
        specification(alt.vconcat(*charts, spacing=12)),
    )


def mean_between(edges: Numbers, start_s: Any, end_s: Any, width: Any) -> Numbers:
    """Return the mean total width of intervals between neighbouring edges, exactly."""
    starts, ends, widths = (np.asarray(each, float) for each in (start_s, end_s, width))
    times = np.concatenate([starts, ends])
    order = np.argsort(times, kind="stable")
    times = times[order]
    level = np.cumsum(np.concatenate([widths, -widths])[order])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(times))])
    mean: Numbers = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    return np.maximum(0.0, mean)  # rounding


def _by_width(results: QueueResults) -> Figure:
    rows = [
        {
            "policy": name,
            "width": each.name,
            "mean_wait_s": max(_SHORTEST_S, each.mean_wait_s),
            "jobs": each.jobs,
        }
        for name, waits in results.waits.items()
        for each in waits.by_width
    ]
    classes = in_order(row["width"] for row in rows)
    points = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=70, opacity=0.9)
        .encode(
            x=alt.X(
                "mean_wait_s:Q", title="mean wait", scale=alt.Scale(type="log"), axis=_time_axis()
            ),
            y=alt.Y("width:N", title=None, sort=classes, axis=alt.Axis(grid=True)),
            yOffset=alt.YOffset("policy:N", sort=list(results.waits)),
            color=_colour(results),
            tooltip=hover("width", "policy", mean_wait_s=",.0f", jobs=",.0f"),
        )
    )
    return Figure(
        "waits_by_width",
        "Waits by width",
        "Mean waits of jobs by their cores, or GPUs where they have any; waits below 1 s are drawn"
        " at 1 s.",
        specification(points.properties(width=_WIDTH_PX, height=max(80, 14 * len(rows)))),
    )


def _colour(results: QueueResults) -> Any:
    names = list(results.waits)
    others = [name for name in names if name != RECORDED]
    colours = {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(others)}
    return scaled(alt.Color, "policy:N", names, [colours.get(name, BEFORE) for name in names])


def _time_axis() -> Any:
    return alt.Axis(values=list(_TICKS_S), labelExpr=_TICK)
