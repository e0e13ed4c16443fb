"""The costs of each policy for the whole cluster: energy, run time and waste."""

from collections.abc import Iterable, Iterator
from typing import Any

import altair as alt
import pyarrow.parquet as pq

from trimtab.evaluation.inputs.schedules import Cell, CellGroup, relative_pct
from trimtab.evaluation.report.figures import AFTER, BEFORE, GPU_COLOUR, Figure, data, hover, scaled
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.report.tables import Column, Row, Table, shown
from trimtab.evaluation.schedules.by_class import difference_key, percent, picked
from trimtab.evaluation.schedules.section import (
    SIMULATED,
    ScheduleSection,
    cell_row,
    figure_of,
    format_role,
    format_sources,
)

_BATCH_ROWS = 1 << 20
_KINDS = {"idle_energy_j": "idle", "active_energy_j": "active"}
_GPU_COLUMNS = (
    Column("gpu_utilisation_pct", "GPUs in use, %", 1),
    Column("gpu_fragmentation_pct", "Fragmented GPUs, %", 1),
)
_FRAGMENTED = " Fragmented GPUs: share of the free GPU time that is on partly used GPUs."


class EnergyAndRunTime(ScheduleSection):
    """The whole cluster until its last job finished, where its energy is known."""

    order = 720

    def make_figures(self) -> Iterator[Figure]:
        """Idle and active energy beside the run time."""
        settings = [
            setting
            for setting in self.charted.settings
            if any(cell.total_energy_j is not None for cell in setting.cells)
        ]
        sources = format_sources(cell.summary.energy_source for s in settings for cell in s.cells)
        return figure_of(
            "energy_and_run_time",
            "Energy and run time by policy",
            "Energy of the whole cluster until its last job finished (idle, and active on top), "
            f"and its run time. The run time is simulated, the energy {sources}. Published, "
            f"against the default scheduler of Kubernetes: {_published_energy()}.",
            [_energy_panel(each, _most(each, settings)) for each in settings],
        )


class ClusterEnergy(ScheduleSection):
    """Idle, active and total energy, run time, use and waste."""

    order = 740

    def make_tables(self) -> Iterator[Table]:
        """A row for each cell."""
        cells = self.schedules.cells
        has_gpus = any(cell.summary.all.gpu_utilisation is not None for cell in cells)
        yield self.compared(
            "cluster_energy",
            titled("Energy and run time of the whole cluster, by policy", "cluster_energy"),
            "Idle: the idle power of every node until the last job finished. Active: the power "
            "that running jobs add. While in use: active energy and idle energy while a node "
            "ran jobs, as if machines were on for jobs only; DiAS does not say which of these "
            "it publishes. Differences are from the baseline policy of the same trace and "
            "cluster; below zero is less. Waste: machine time of aborted executions by all "
            "machine time of jobs. A column names the energy's source; published values are "
            "metered." + _FRAGMENTED * has_gpus,
            (
                Column("idle_energy_j", "Idle energy, J", 0),
                Column("active_energy_j", "Active energy, J", 0),
                Column("total_energy_j", "Total energy, J", 0),
                Column("total_energy_difference_pct", "vs. baseline, %", 1),
                Column("processing_energy_j", "Energy while in use, J", 0),
                Column("processing_energy_difference_pct", "vs. baseline, %", 1),
                Column("makespan_s", "Run time, s", 1),
                Column("makespan_difference_pct", "vs. baseline, %", 1),
                Column("utilisation_pct", "In use, %", 1),
                *(_GPU_COLUMNS if has_gpus else ()),
                Column("waste_pct", "Waste, %", 1),
                Column("energy_source", "Energy is"),
                Column("details", "Details"),
            ),
            [_row(cell, group) for group in self.schedules.settings for cell in group.cells],
        )


def _row(cell: Cell, group: CellGroup) -> Row:
    cost, baseline = _cost(cell), group.compared_with(cell)
    before = _cost(baseline) if baseline else {}
    return {
        **cell_row(cell),
        **cost,
        **{difference_key(key): relative_pct(before[key], cost[key]) for key in before},
        **picked(cell.summary.all, *_KINDS),
        "utilisation_pct": percent(cell.summary.all.utilisation),
        "gpu_utilisation_pct": percent(cell.summary.all.gpu_utilisation),
        "gpu_fragmentation_pct": percent(cell.summary.all.gpu_fragmentation),
        "waste_pct": percent(waste_share(cell)),
        "energy_source": cell.summary.energy_source,
        "details": format_role(cell, group),
        "source": SIMULATED,
    }


def _cost(cell: Cell) -> dict[str, float | None]:
    """Return the figures to compare with the baseline."""
    return {
        "total_energy_j": cell.total_energy_j,
        "processing_energy_j": cell.processing_energy_j,
        "makespan_s": cell.summary.all.makespan_s,
    }


def waste_share(cell: Cell) -> float | None:
    """Return the wasted share, 0 to 1, of the jobs' machine time.

    Rocha's thesis, section 4.4.2, "Resource Waste". Reads the jobs in batches; None without any.
    """
    wasted = useful = 0.0
    columns = ["wasted_s", "execution_s"]
    for batch in pq.ParquetFile(cell.jobs).iter_batches(_BATCH_ROWS, columns=columns):
        frame = batch.to_pandas()
        wasted += float(frame["wasted_s"].sum())
        useful += float(frame["execution_s"].sum())
    return wasted / (wasted + useful) if wasted + useful else None


def _published_energy() -> str:
    """Return the published results of HEATS in words, with energy differences where given."""
    said = []
    for row in published("cluster_energy"):
        if row.bears_on == "node_types":
            difference = row.values.get("total_energy_difference_pct")
            words = [] if difference is None else [f"energy {shown(difference, 1)} %"]
            words.append(str(row.values["details"]))
            said.append(f"{row.row.rpartition(', ')[2]}: {', '.join(words)}")
    return "; ".join(said)


def _most(setting: CellGroup, settings: Iterable[CellGroup]) -> tuple[float, float]:
    """Return the maxima of kJ and seconds of the cells on a cluster, for comparable panels."""
    cells = [cell for each in settings if each.cluster == setting.cluster for cell in each.cells]
    energies_j = [sum(getattr(cell.summary.all, key) or 0.0 for key in _KINDS) for cell in cells]
    return max(energies_j) / 1e3, max(cell.summary.all.makespan_s for cell in cells)


def _energy_panel(setting: CellGroup, most: tuple[float, float]) -> Any:
    most_kj, most_s = (alt.Scale(domain=[0, end], nice=True) for end in most)
    policies = [cell.label for cell in setting.cells]
    energies = [
        {
            "policy": cell.label,
            "kind": kind,
            "order": order,
            "energy_kj": (getattr(cell.summary.all, key) or 0.0) / 1e3,
        }
        for cell in setting.cells
        for order, (key, kind) in enumerate(_KINDS.items())
    ]
    times = [{"policy": c.label, "makespan_s": c.summary.all.makespan_s} for c in setting.cells]
    energy = (
        alt.Chart(data(energies))
        .mark_bar(height=16)
        .encode(
            y=alt.Y("policy:N", sort=policies, title=None, axis=alt.Axis(labelLimit=260)),
            x=alt.X("energy_kj:Q", title="Energy, kJ", scale=most_kj),
            color=scaled(alt.Color, "kind:N", _KINDS.values(), (BEFORE, AFTER)),
            order="order:Q",
            tooltip=hover("policy", "kind", energy_kj=",.1f"),
        )
    )
    time = (
        alt.Chart(data(times))
        .mark_bar(height=16, color=GPU_COLOUR)
        .encode(
            y=alt.Y("policy:N", sort=policies, title=None, axis=None),
            x=alt.X("makespan_s:Q", title="Run time, s", scale=most_s),
            tooltip=hover("policy", makespan_s=",.1f"),
        )
    )
    panels = [chart.properties(width=330, height=alt.Step(24)) for chart in (energy, time)]
    return alt.hconcat(*panels, title=alt.TitleParams(setting.label))
