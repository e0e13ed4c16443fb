"""What each policy cost the whole cluster."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow.parquet as pq

from trimtab.evaluation.inputs.schedules import Cell, relative_pct
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.evaluation.schedules.by_class import percent
from trimtab.evaluation.schedules.section import (
    SIMULATED,
    ScheduleSection,
    cell_row,
    policy_metrics,
)

_BATCH_ROWS = 1 << 20


class ClusterEnergy(ScheduleSection):
    """Idle, active and total energy, run time, use and waste."""

    order = 740

    def make_tables(self) -> Iterator[Table]:
        """A row for each cell."""
        rows = [
            _row(cell, setting.baseline)
            for setting in self.schedules.settings
            for cell in setting.cells
        ]
        yield self.compared(
            "cluster_energy",
            titled("Energy and run time of the whole cluster, by policy", "cluster_energy"),
            "Idle: the idle power of every node until the last job finished. Active: what running "
            "jobs draw on top. While in use: active energy, and of the idle energy the share of "
            "the time in use, as of machines that are on for jobs alone; the published "
            "differences of DiAS do not say which of these they are. Differences are from the "
            "baseline policy of the same trace and cluster; below zero is less. Waste: machine "
            "time of thrown-away executions over all machine time of jobs. The energy's source is "
            "in its own column; published values are metered.",
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
                Column("waste_pct", "Waste, %", 1),
                Column("energy_source", "Energy is"),
                Column("details", "Details"),
            ),
            rows,
        )

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each policy."""
        return policy_metrics(self.tables[0])


def _row(cell: Cell, baseline: Cell | None) -> Row:
    row = cell_row(cell) | {
        "idle_energy_j": cell.totals.idle_energy_j,
        "active_energy_j": cell.totals.active_energy_j,
        "makespan_s": cell.totals.makespan_s,
        "total_energy_j": cell.total_energy_j,
        "processing_energy_j": cell.processing_energy_j,
        "utilisation_pct": percent(cell.totals.utilisation),
        "waste_pct": percent(waste_share(cell)),
        "energy_source": cell.summary.energy_source,
        "details": "the baseline" if cell.baseline else "" if baseline else "no baseline",
        "source": SIMULATED,
    }
    if baseline and cell is not baseline:
        row |= {
            "total_energy_difference_pct": relative_pct(
                baseline.total_energy_j, cell.total_energy_j
            ),
            "processing_energy_difference_pct": relative_pct(
                baseline.processing_energy_j, cell.processing_energy_j
            ),
            "makespan_difference_pct": relative_pct(
                baseline.totals.makespan_s, cell.totals.makespan_s
            ),
        }
    return row


def waste_share(cell: Cell) -> float | None:
    """Return the share, 0 to 1, of the jobs' machine time that was thrown away.

    Rocha's thesis, section 4.4.2, "Resource Waste". Reads the jobs in batches; None without any.
    """
    wasted = useful = 0.0
    columns = ["wasted_s", "execution_s"]
    for batch in pq.ParquetFile(cell.jobs).iter_batches(_BATCH_ROWS, columns=columns):
        frame = batch.to_pandas()
        wasted += float(frame["wasted_s"].sum())
        useful += float(frame["execution_s"].sum())
    return wasted / (wasted + useful) if wasted + useful else None
