"""Run time and energy of jobs by type of node, and the errors of predicting them."""

from collections.abc import Iterator
from dataclasses import asdict

from trimtab.evaluation.inputs.schedules import Cell
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table
from trimtab.evaluation.schedules.section import (
    POLICY_COLUMNS,
    SIMULATED,
    ScheduleSection,
    cell_row,
    format_sources,
)
from trimtab.records.figures import PredictedRuns


class Predictability(ScheduleSection):
    """The cells whose policy predicts run time and energy."""

    order = 825

    def make_tables(self) -> Iterator[Table]:
        """A row for each policy, class of jobs and type of node."""
        rows = [
            row
            for setting in self.schedules.settings
            for cell in setting.cells
            for row in self._rows(cell)
        ]
        if rows:
            yield Table(
                "predictions",
                titled(
                    "Run time, energy and power by type of node, and errors of prediction",
                    "predictions",
                ),
                "HEATS' regressions, as first trained, on simulated jobs that stayed on one node; "
                "and on real probing runs, each tenth predicted from the others. Means are without "
                "set-up and idle power. Error: mean of the errors relative to each job or run, "
                "without sign. All jobs of a class request the same, so a regression on requests "
                "predicts one value for all on a type of node. Published: figure 3.3 is a chart "
                "without numbers, and the thesis prints no error of prediction.",
                (
                    *POLICY_COLUMNS,
                    Column("of", "Of"),
                    Column("task", "Class or task"),
                    Column("node_type", "Type of node"),
                    Column("runs", "Jobs or runs", 0),
                    Column("run_time_s", "Mean run time, s", 2),
                    Column("energy_j", "Mean energy, J", 1),
                    Column("power_w", "Mean power, W", 1),
                    Column("run_time_error_pct", "Error of run time, %", 1),
                    Column("energy_error_pct", "Error of energy, %", 1),
                    Column("power_error_pct", "Error of power, %", 1),
                    Column("source", "Source"),
                ),
                tuple(rows),
            )

    def _rows(self, cell: Cell) -> Iterator[Row]:
        for errors in cell.summary.predictions:
            source = SIMULATED
            if errors.of is PredictedRuns.PROBES:
                probes = self.schedules.probes.get(errors.node_type, ())
                # Their times are measured.
                source = format_sources([MEASURED, *(probe.energy_source for probe in probes)])
            yield {
                **cell_row(cell),
                **asdict(errors),
                "source": source,
                # Names of our numbers among the metrics; probing tasks are no classes.
                "job_class": errors.task if errors.of is PredictedRuns.JOBS else None,
                "quantity": f"predictions/{errors.of}/{errors.task}/{errors.node_type}",
            }
