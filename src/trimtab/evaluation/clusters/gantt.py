"""A Gantt chart of any simulated run: jobs on nodes over time, and their ends.

Allocations of jobs are read from a file, which may be long, and get lanes in the drawing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd
import pyarrow.parquet as pq
from markupsafe import Markup

from trimtab.evaluation.inputs.schedules import Cell, CellGroup
from trimtab.evaluation.report.blocks import Block, Fold, Prose
from trimtab.evaluation.report.figures import INK, Figure, data, hover, scaled, specification
from trimtab.evaluation.schedules.section import OTHERS, ScheduleSection, class_colour

_STAYS = 200
_UNKNOWN = "not finished"
_PARTS = ["running", "set-up"]
_ENDS = {"evicted": "cross", "migrated": "triangle-right", "failed": "diamond"}
_CORE_PX, _NODE_PX, _GAP_PX = 9, (16, 120), 4


@dataclass(frozen=True)
class Window:
    """The first allocations of a cell (ALLOCATIONS), cut at `until_s`, and their total number."""

    allocations: pd.DataFrame
    until_s: float
    of: int


def first_allocations(cell: Cell, limit: int) -> Window | None:
    """Return the first `limit` allocations by start; None without any.

    The window ends at the start of the next allocation, so it shows all that ran in it. An
    allocation that continues has the end "goes on". If all began at once, each is shown to its end.
    """
    starts = pq.read_table(cell.allocations, columns=["start_s"]).to_pandas()["start_s"]
    if starts.empty:
        return None
    nearest = starts.nsmallest(limit + 1)
    wanted = [("start_s", "<=", float(nearest.iloc[-1]))]
    frame = pq.read_table(cell.allocations, filters=wanted).to_pandas()
    frame = frame.sort_values(["start_s", "end_s", "job"], kind="stable").head(limit)
    until_s = float(frame["end_s"].max())
    if len(nearest) > limit and nearest.iloc[-1] > nearest.iloc[0]:
        until_s = min(until_s, float(nearest.iloc[-1]))
        frame = frame[frame["start_s"] < until_s].copy()
        frame.loc[frame["end_s"] > until_s, "end"] = "goes on"
        frame["end_s"] = frame["end_s"].clip(upper=until_s)
    # An allocation that never became ready was in set-up from start to end.
    frame["ready_s"] = frame["ready_s"].fillna(frame["end_s"])
    frame["ready_s"] = frame["ready_s"].clip(frame["start_s"], frame["end_s"])
    return Window(frame.reset_index(drop=True), until_s, len(starts))


def lanes(allocations: pd.DataFrame) -> pd.Series:
    """Return the lowest free lane of each allocation of one node, in thousandths of a core.

    Allocations that overlap in time never overlap in lanes; a job that continues at another
    frequency keeps its lane. `allocations` is in the order of starts. An allocation without cores
    is drawn with one.
    """
    taken: list[tuple[float, int, int]] = []  # end, lowest and highest lane of each
    before: dict[int, int] = {}
    found = []
    for allocation in allocations.to_dict("records"):
        taken = [lane for lane in taken if lane[0] > allocation["start_s"]]
        height = lane_height(allocation)
        candidates = [before.get(allocation["job"], 0), 0, *sorted(top for _, _, top in taken)]
        lowest = next(
            at
            for at in candidates
            if all(at >= top or at + height <= bottom for _, bottom, top in taken)
        )
        before[allocation["job"]] = lowest
        taken.append((allocation["end_s"], lowest, lowest + height))
        found.append(lowest)
    return pd.Series(found, index=allocations.index, dtype="int64")


def lane_height(allocation: Any) -> int:
    """Return the height of an allocation in thousandths of a core."""
    return int(allocation["cpu_milli"]) or 1000


class Gantt(ScheduleSection):
    """A Gantt chart of the first allocations of each cell."""

    order = 840

    def make_figures(self) -> Iterator[Figure]:
        """A chart for each cell."""
        for setting in self.charted.settings:
            for cell in setting.cells:
                if window := first_allocations(cell, _STAYS):
                    yield self.of_main_classes(_gantt(setting, cell, window))

    def page(self) -> Iterator[Block]:
        """Yield the charts, all but the first folded."""
        if self.figures:
            yield Prose(Markup("<h3>Gantt charts</h3>"))
        for number, figure in enumerate(self.figures):
            yield Fold(figure.title, figure, is_open=number == 0)


def gantt_name(cell: Cell) -> str:
    """Return the file name's stem of a cell's chart, valid in any file system."""
    return re.sub(r"[^\w.-]", "_", "_".join(("gantt", *cell.setting, cell.summary.policy)))


def _gantt(setting: CellGroup, cell: Cell, window: Window) -> Figure:
    bars, bands = layout(cell, window)
    height = bands[-1]["bottom"]
    there = {bar["job_class"] for bar in bars}
    more = [name for name in (OTHERS, _UNKNOWN) if name in there]
    y = alt.Y("top:Q", axis=None, scale=alt.Scale(domain=[0, height], reverse=True, nice=False))
    time = alt.Scale(
        domain=[float(window.allocations["start_s"].min()), window.until_s], nice=False
    )
    rectangles = (
        alt.Chart(data(bars))
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("from_s:Q", title="Time, s", scale=time),
            x2="to_s:Q",
            y=y,
            y2="bottom:Q",
            color=class_colour([*setting.classes, *more]),
            opacity=scaled(alt.Opacity, "part:O", _PARTS, (1, 0.35), sort=_PARTS),
            tooltip=[
                *("job:Q", "job_class:N", "node:N", "part:N", "level:Q", "cores:Q"),
                *(*hover(from_s=",.2f", to_s=",.2f"), "end:N"),
            ],
        )
    )
    ends = [bar for bar in bars if bar["end"] in _ENDS]
    marks = (
        alt.Chart(data(ends))
        .mark_point(size=70, filled=True, color=INK, opacity=1, stroke="white", strokeWidth=0.6)
        .encode(
            x="to_s:Q",
            y="middle:Q",
            shape=scaled(
                *(alt.Shape, "end:N", _ENDS, [*_ENDS.values()]),
                legend=alt.Legend(title="Ended", orient="top"),
            ),
        )
    )
    nodes = alt.Chart(data(bands))
    names = nodes.mark_text(align="right", dx=-6, color=INK, fontSize=11).encode(
        x=alt.value(0), y="middle:Q", text="node:N"
    )
    rules = nodes.mark_rule(color="#dfe4ea").encode(y="bottom:Q")
    layers = (rectangles, marks, names, rules) if ends else (rectangles, names, rules)
    return Figure(
        gantt_name(cell),
        f"{setting.label}: {cell.label}",
        _caption(cell, window),
        specification(alt.layer(*layers).properties(width=820, height=height)),
    )


def _caption(cell: Cell, window: Window) -> str:
    said = (
        f"All {window.of} allocations"
        if window.of == len(window.allocations)
        else f"The first {len(window.allocations)} of {window.of} allocations, up to the next start"
    )
    return (
        f"{said}. A bar is a job on a node, as high as its share of the cores; its lighter part "
        "is image pull and cold start, and a mark says where it ended other than by finishing. "
        f"Simulated ({cell.summary.simulator})."
    )


def layout(cell: Cell, window: Window) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the bars and the nodes' bands: each allocation has bars for set-up and run.

    Heights are in pixels from the top; a node's height fits its highest lane.
    """
    hardware = dict(zip(cell.nodes["node"], cell.nodes["hardware"], strict=True))
    classes = _classes(cell, window.allocations)
    bars: list[dict[str, Any]] = []
    bands: list[dict[str, Any]] = []
    top = 0.0
    for node, allocations in window.allocations.groupby("node", sort=True):
        in_lanes: Any = list(zip(lanes(allocations), allocations.to_dict("records"), strict=True))
        needed = max(low + lane_height(allocation) for low, allocation in in_lanes)
        height = min(max(needed / 1000 * _CORE_PX, _NODE_PX[0]), _NODE_PX[1])
        name = f"{hardware.get(node, 'node')} {node}"
        for low, allocation in in_lanes:
            bar = {
                "job": allocation["job"],
                "job_class": classes.get(allocation["job"], _UNKNOWN),
                "node": name,
                "level": allocation["level"],
                "cores": allocation["cpu_milli"] / 1000,
                "top": top + low / needed * height,
                "bottom": top + (low + lane_height(allocation)) / needed * height,
            }
            bar["middle"] = (bar["top"] + bar["bottom"]) / 2
            parts = {
                "set-up": (allocation["start_s"], allocation["ready_s"]),
                "running": (allocation["ready_s"], allocation["end_s"]),
            }
            drawn = [(part, *times) for part, times in parts.items() if times[0] < times[1]]
            for part, from_s, to_s in drawn:
                end = allocation["end"] if to_s == allocation["end_s"] else ""
                bars.append(bar | {"part": part, "from_s": from_s, "to_s": to_s, "end": end})
        bands.append({"node": name, "middle": top + height / 2, "bottom": top + height})
        top += height + _GAP_PX
    return bars, bands


def _classes(cell: Cell, allocations: pd.DataFrame) -> dict[int, str]:
    """Return the class of each finished job of `allocations`; OTHERS for hidden classes."""
    jobs = [int(job) for job in allocations["job"].unique()]
    columns = ["job", "job_class"]
    found = pq.read_table(cell.jobs, columns=columns, filters=[("job", "in", jobs)]).to_pandas()
    names = found["job_class"].where(found["job_class"].isin(list(cell.classes)), OTHERS)
    return dict(zip(found["job"], names, strict=True))
