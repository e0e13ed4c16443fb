"""Run time and energy of jobs by type of node, and the errors of predicting them."""

from collections.abc import Iterator

import pandas as pd
import pyarrow.parquet as pq

from trimtab.evaluation.inputs.schedules import Cell, CellGroup
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.evaluation.schedules.section import SIMULATED, ScheduleSection
from trimtab.records.trace_facts import ServiceSource

_ROWS = 100_000  # of each policy, enough for means
_COLUMNS = ["job_class", "node", "execution_s", "set_up_s", "energy_j", "evictions", "migrations"]


class Predictability(ScheduleSection):
    """The jobs of drawn traces on clusters of several types of nodes."""

    order = 825

    def make_tables(self) -> Iterator[Table]:
        """A row for each class of jobs and type of node."""
        rows = [
            row
            for setting in self.schedules.settings
            if is_predicted(setting)
            for row in _rows(setting)
        ]
        if rows:
            yield Table(
                "predictions",
                titled(
                    "Run time and energy by type of node, and errors of prediction", "predictions"
                ),
                "Of all jobs under all policies that stayed on one node: run time without set-up, "
                "and active energy. All jobs of a class request the same, so a regression on "
                "cores and memory, as HEATS has it, predicts one value for all on a type of node, "
                "their mean. Error: of the mean, relative to each job, without sign.",
                (
                    Column("trace", "Trace"),
                    Column("cluster", "Cluster"),
                    Column("job_class", "Class"),
                    Column("node_type", "Type of node"),
                    Column("jobs", "Jobs", 0),
                    Column("run_time_s", "Mean run time, s", 2),
                    Column("energy_j", "Mean energy, J", 1),
                    Column("run_time_error_pct", "Error of run time, %", 1),
                    Column("energy_error_pct", "Error of energy, %", 1),
                    Column("source", "Source"),
                ),
                tuple(rows),
            )


def is_predicted(setting: CellGroup) -> bool:
    """Return whether a regression by type of node predicts one value for each class."""
    return all(
        cell.summary.service_source == ServiceSource.DRAWN and cell.nodes["hardware"].nunique() > 1
        for cell in setting.cells
    )


def _rows(setting: CellGroup) -> Iterator[Row]:
    jobs = pd.concat([_whole_jobs(cell) for cell in setting.cells])
    for (job_class, node_type), of_type in jobs.groupby(["job_class", "node_type"], sort=True):
        yield {
            "trace": setting.trace,
            "cluster": setting.cluster,
            "job_class": str(job_class),
            "node_type": str(node_type),
            "jobs": len(of_type),
            "run_time_s": float(of_type["run_time_s"].mean()),
            "energy_j": float(of_type["energy_j"].mean()),
            "run_time_error_pct": error_of_mean_pct(of_type["run_time_s"]),
            "energy_error_pct": error_of_mean_pct(of_type["energy_j"]),
            "source": SIMULATED,
        }


def _whole_jobs(cell: Cell) -> pd.DataFrame:
    """Return the first jobs of a cell that ran on one node from start to end."""
    with pq.ParquetFile(cell.jobs) as file:
        batches = file.iter_batches(_ROWS, columns=_COLUMNS)
        jobs: pd.DataFrame = next(batches).to_pandas()
    hardware = dict(zip(cell.nodes["node"], cell.nodes["hardware"], strict=True))
    jobs["run_time_s"] = jobs["execution_s"] - jobs["set_up_s"]
    jobs["node_type"] = jobs["node"].map(hardware)
    whole = (jobs["evictions"] == 0) & (jobs["migrations"] == 0) & (jobs["run_time_s"] > 0)
    return jobs[whole & (jobs["energy_j"] > 0)]


def error_of_mean_pct(values: "pd.Series[float]") -> float:
    """Return the mean absolute error of the mean, relative to each value, in per cent."""
    return float(100.0 * ((values - values.mean()).abs() / values).mean())
