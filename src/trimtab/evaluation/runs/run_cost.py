"""Memory, time, start-up and energy of the interleaved runs of each target."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.libraries.loading_modes import MODES, NO_MODE
from trimtab.evaluation.libraries.size_columns import NO_GPU_CODE
from trimtab.evaluation.report.figures import AFTER, BEFORE, Figure, data, scaled, specification
from trimtab.evaluation.report.key_figures import About, KeyFigure, less
from trimtab.evaluation.report.section import GPU_CODE, RUNS, TargetSection
from trimtab.evaluation.report.tables import (
    MB,
    MEASURED,
    Column,
    Row,
    Table,
    Value,
    compared,
    energy_source,
)
from trimtab.evaluation.runs.pairs import DEBLOATED, ORIGINAL, compare, spread_column

# By key in the table: column of RUNS, heading, divisor, digits shown.
_QUANTITIES = {
    "peak_memory_mb": ("peak_rss_bytes", "Peak CPU memory, MB", MB, 1),
    "peak_gpu_memory_mb": ("peak_gpu_memory_bytes", "Peak GPU memory, MB", MB, 1),
    "wall_s": ("wall_s", "Run time, s", 1.0, 2),
    "start_up_s": ("start_up_s", "Start-up, s", 1.0, 2),
    "energy_j": ("energy_j", "Energy, J", 1.0, 1),
}


def _stem(key: str) -> str:
    return f"{key.rsplit('_', 1)[0]}_reduction"


_COLUMNS = (
    Column("pairs", "Pairs", 0),
    *(
        column
        for key, (_, heading, _, decimals) in _QUANTITIES.items()
        for column in (Column(key, heading, decimals), spread_column(_stem(key), "less, %"))
    ),
    Column("energy_source", "Energy is"),
)
_MEANING = (
    "Original: the median over the interleaved pairs of an original and a debloated run. Less: the "
    "median of the pairs' reductions, and below it the smallest and the largest; a negative "
    "reduction is an increase."
)


class RunCost(TargetSection):
    """The cost of running each workload, and its reduction."""

    order = 400
    chapter = RUNS

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload of each target."""
        rows = [
            _run_row(target, workload)
            for target in self.measurements.targets
            for workload in target.workloads
        ]
        no_gpu = "" if self.measurements.have_gpu_code else f" {NO_GPU_CODE}"
        yield compared(
            "run_cost",
            "Run-time performance",
            f"{_MEANING} The published values are means of ten runs, with a standard deviation "
            f"below 2 %, on a GPU machine.{no_gpu}",
            _COLUMNS,
            rows,
            who=(Column("name", "Workload"), _target_column(rows)),
        )

    def make_figures(self) -> Iterator[Figure]:
        """The run time of every interleaved run."""
        yield _run_times(self.measurements)

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the cost of each workload of a target, and its reduction."""
        quick = {
            (target.label, start.workload)
            for target in self.measurements.targets
            for start in target.starts
            if start.saved_s
        }
        for row in self.tables[0].ours:
            target = str(row["target"])
            suffix = "" if row["name"] == row["target"] else f", {row['name']}"
            memory = less(f"Peak memory{suffix}", row, "peak_memory", "mb")
            yield target, replace(memory, about=About.MEMORY)
            if "peak_gpu_memory_mb" in row:
                yield target, less(f"Peak GPU memory{suffix}", row, "peak_gpu_memory", "mb")
            # Page one has the start from the snapshot, where that is clear.
            start_up = "Usual start-up" if (target, row["name"]) in quick else "Start-up"
            start = less(f"{start_up}{suffix}", row, "start_up", "s")
            yield target, replace(start, about=About.START)
            run_time = less(f"Run time{suffix}", row, "wall", "s")
            yield target, replace(run_time, about=About.RUN_TIME)
            source = row["energy_source"] or "unknown"
            energy = less(f"Energy ({source}){suffix}", row, "energy", "j")
            yield target, replace(energy, about=About.ENERGY)

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each workload of each target."""
        return {"workloads": self.tables[0].by_row("target", "name")}


class RunCostByLoadingMode(TargetSection):
    """Memory and time of the workloads that state the loading of GPU code."""

    order = 220
    chapter = GPU_CODE

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload of each target."""
        rows = [
            _run_row(target, workload) | {"loading": mode}
            for target in self.measurements.targets
            if target.has_gpu_code
            for workload in target.workloads
            if (mode := self.measurements.inputs.facts(workload).loading)
        ]
        without_energy = (column for column in _COLUMNS if not column.key.startswith("energy"))
        yield compared(
            "run_cost_by_loading_mode",
            "Run-time performance under eager and lazy loading",
            f"{MODES} {_MEANING}",
            (Column("loading", "Loading"), *without_energy),
            rows,
            who=(Column("name", "Workload"), _target_column(rows)),
            missing=NO_MODE,
        )


def _target_column(rows: Iterable[Row]) -> Column:
    """Return the column of targets, shown in the report if their names differ from workloads'."""
    return Column("target", "Target", in_report=any(row["target"] != row["name"] for row in rows))


def _run_row(target: DebloatedTarget, workload: str) -> dict[str, Value]:
    """Return _COLUMNS of one workload's interleaved runs; unknown quantities are left out."""
    runs = target.runs[target.runs["workload"] == workload]
    row: dict[str, Value] = {
        "name": workload,
        "target": target.label,
        "hardware": target.hardware,
        "pairs": 0,
    }
    for key, (column, _, divisor, _) in _QUANTITIES.items():
        comparison = compare(runs, column)
        if comparison is None:
            continue
        row["pairs"] = max(int(row["pairs"] or 0), comparison.pairs)
        row |= {key: comparison.original / divisor} | comparison.reduction(_stem(key))
    row["energy_source"] = energy_source(runs["energy_source"]) if "energy_j" in row else None
    row["source"] = MEASURED
    return row


def _run_times(measurements: Measurements) -> Figure:
    """Return the run times of all interleaved runs, a line for each pair."""
    values, both = [], [ORIGINAL, DEBLOATED]
    for target in measurements.targets:
        good = target.runs[target.runs["ended_well"]]
        for run in good[good["condition"].isin(both)].to_dict("records"):
            name = run["workload"]
            values.append(
                {
                    "workload": name if name == target.label else f"{name}, {target.label}",
                    **{key: run[key] for key in ("condition", "repeat", "wall_s")},
                }
            )
    base = alt.Chart(data(values)).encode(
        x=alt.X("condition:N", sort=both, title=None, axis=alt.Axis(labelAngle=0, grid=False)),
        y=alt.Y("wall_s:Q", title="Run time, s", scale=alt.Scale(zero=False, padding=12)),
    )
    colour = scaled(alt.Color, "condition:N", both, (BEFORE, AFTER), legend=None)
    pairs = base.mark_line(color="#d5dbe1").encode(detail="repeat:Q")
    points = base.mark_circle(size=60, opacity=0.9).encode(
        color=colour,
        tooltip=["condition:N", "repeat:Q", alt.Tooltip("wall_s:Q", format=".3f")],
    )
    medians = base.mark_tick(thickness=3, width=60).encode(
        y=alt.Y("median(wall_s):Q"), color=colour
    )
    chart = (
        alt.layer(pairs, points, medians)
        .properties(width=200, height=220)
        .facet(facet=alt.Facet("workload:N", title=None), columns=3)
        .resolve_scale(y="independent")
    )
    return Figure(
        "run_times",
        "Run time of every interleaved run",
        "A dot is a run, a grey line joins the two runs of a pair, the bar is the median. The "
        "axis does not start at zero.",
        specification(chart),
    )
