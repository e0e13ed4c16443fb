"""Eager and lazy loading of GPU code: the runs of the workloads that state which."""

from collections.abc import Iterator

from trimtab.evaluation.libraries.loading_modes import MODES, NO_MODE
from trimtab.evaluation.report.chapters import GPU_CODE
from trimtab.evaluation.report.compared import compared
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import Column, Table
from trimtab.evaluation.runs.run_cost import RUN_COLUMNS, RUNS_MEANING, run_row, target_column


class RunCostByLoadingMode(TargetSection):
    """Memory and time of the workloads that state how GPU code is loaded."""

    order = 220
    chapter = GPU_CODE

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload of each target."""
        rows = [
            run_row(target, workload) | {"loading": mode}
            for target in self.measurements.targets
            if target.has_gpu_code
            for workload in target.workloads
            if (mode := self.measurements.inputs.facts(workload).loading)
        ]
        without_energy = (column for column in RUN_COLUMNS if not column.key.startswith("energy"))
        yield compared(
            "run_cost_by_loading_mode",
            "Run-time performance under eager and lazy loading",
            f"{MODES} {RUNS_MEANING}",
            (Column("loading", "Loading"), *without_energy),
            rows,
            who=(Column("name", "Workload"), target_column(rows)),
            missing=NO_MODE,
        )
