"""The effect of a job's migration on its time and energy."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd
import pyarrow.parquet as pq

from trimtab.evaluation.inputs.schedules import Cell, CellGroup
from trimtab.evaluation.report.figures import AFTER, HIGHLIGHT, INK, Figure, data, scaled
from trimtab.evaluation.report.published import stated
from trimtab.evaluation.schedules.section import ScheduleSection, figure_of, format_sources

_LOOKED_AT = 100  # the first moved jobs; one of them finished, unless the trace was cut


@dataclass(frozen=True)
class Moved:
    """A job that migrated, and the cells with its allocations, perhaps also the baseline's."""

    setting: CellGroup
    job: int
    cells: tuple[Cell, ...]


class MigratedJob(ScheduleSection):
    """The first job that a policy moved, if any."""

    order = 830

    def make_figures(self) -> Iterator[Figure]:
        """The job's time line, a panel for each setting with a migration."""
        jobs = [moved for setting in self.charted.settings if (moved := first_moved(setting))]
        sources = format_sources(cell.summary.energy_source for job in jobs for cell in job.cells)
        wall_s, energy_j, less_pct, ratio = (
            stated("migrated_job", key)
            for key in ("wall_s", "energy_j", "energy_reduction_pct", "wall_ratio")
        )
        return figure_of(
            "migrated_job",
            "A job that moved to another node",
            "The first job of the trace that a policy moved, and where the baseline policy left "
            "it. Orange is image pull and cold start. Beside the last bar: response time and the "
            f"job's active energy, which is {sources}; times are simulated. Published: k-means "
            f"that stays takes {wall_s:g} s and {energy_j:g} J, one that moves {less_pct:g} % less "
            f"energy and {ratio:g} times as long.",
            map(_panel, jobs),
        )


def first_moved(setting: CellGroup) -> Moved | None:
    """Return the first finished job with a migration under the first policy that has one."""
    for cell in setting.cells:
        moved = pq.read_table(
            cell.allocations, columns=["job"], filters=[("end", "==", "migrated")]
        )
        jobs = sorted({int(job) for job in moved["job"].to_pylist()})
        finished = _finished(cell, jobs[:_LOOKED_AT])
        if not finished.empty:
            job = int(finished["job"].min())
            baseline = setting.baseline
            beside = baseline if baseline is not cell else None
            here = beside is not None and not _allocations(beside, job).empty
            return Moved(setting, job, (beside, cell) if beside and here else (cell,))
    return None


def timeline(cell: Cell, job: int) -> list[dict[str, Any]]:
    """Return the job's bars in seconds since its arrival; the last has its time and energy."""
    facts = _finished(cell, [job])
    if facts.empty:
        return []
    of_job = facts.iloc[0]
    hardware = dict(zip(cell.nodes["node"], cell.nodes["hardware"], strict=True))
    bars = [
        {
            "policy": cell.label,
            "node": f"{hardware.get(allocation['node'], 'node')} {allocation['node']}",
            "part": part,
            "from_s": from_s - of_job["arrival_s"],
            "to_s": to_s - of_job["arrival_s"],
            "said": "",
        }
        for allocation in _allocations(cell, job).to_dict("records")
        for part, from_s, to_s in _parts(allocation)
        if from_s < to_s
    ]
    if bars:
        bars[-1]["said"] = f"{of_job['response_s']:,.1f} s, {of_job['energy_j']:,.0f} J"
    return bars


def _parts(allocation: Any) -> tuple[tuple[str, float, float], tuple[str, float, float]]:
    ready = allocation["end_s"] if pd.isna(allocation["ready_s"]) else allocation["ready_s"]
    ready = min(max(ready, allocation["start_s"]), allocation["end_s"])
    return ("set-up", allocation["start_s"], ready), ("running", ready, allocation["end_s"])


def _allocations(cell: Cell, job: int) -> pd.DataFrame:
    frame: pd.DataFrame = pq.read_table(cell.allocations, filters=[("job", "==", job)]).to_pandas()
    return frame.sort_values("start_s")


def _finished(cell: Cell, jobs: list[int]) -> pd.DataFrame:
    columns = ["job", "arrival_s", "response_s", "energy_j"]
    found = pq.read_table(cell.jobs, columns=columns, filters=[("job", "in", jobs)])
    frame: pd.DataFrame = found.to_pandas()
    return frame


def _panel(moved: Moved) -> Any:
    longest_s = max(bar["to_s"] for cell in moved.cells for bar in timeline(cell, moved.job))
    rows = [
        _timeline(timeline(cell, moved.job), longest_s).properties(
            width=560, height=alt.Step(26), title=cell.label
        )
        for cell in moved.cells
    ]
    return alt.vconcat(
        *rows, spacing=8, title=alt.TitleParams(f"{moved.setting.label}, job {moved.job}")
    )


def _timeline(bars: list[dict[str, Any]], longest_s: float) -> Any:
    base = alt.Chart(data(bars)).encode(
        y=alt.Y("node:N", sort=None, title=None, axis=alt.Axis(labelLimit=200)),
        tooltip=["policy:N", "node:N", "part:N", "from_s:Q", "to_s:Q"],
    )
    rectangles = base.mark_bar(height=18).encode(
        x=alt.X("from_s:Q", title="Time since arrival, s", scale=alt.Scale(domain=[0, longest_s])),
        x2="to_s:Q",
        color=scaled(alt.Color, "part:N", ("running", "set-up"), (AFTER, HIGHLIGHT)),
    )
    said = base.mark_text(align="left", dx=5, color=INK).encode(x="to_s:Q", text="said:N")
    return alt.layer(rectangles, said)
