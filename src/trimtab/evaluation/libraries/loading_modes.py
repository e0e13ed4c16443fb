"""Eager and lazy loading of GPU code: the sizes and the runs of those that state which."""

from collections.abc import Iterator

from trimtab.evaluation.libraries.size_columns import (
    SIZE_COLUMNS,
    libraries_and_sizes,
    sizes_meaning,
)
from trimtab.evaluation.report.chapters import GPU_CODE
from trimtab.evaluation.report.compared import compared, target_row
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import Column, Table
from trimtab.evaluation.runs.run_cost import RUN_COLUMNS, RUNS_MEANING, run_row, target_column

_MODES = (
    "Eager loading puts all kernels of a library into memory when the program starts, lazy loading "
    "each when it is first used."
)
_NO_MODE = "Not measured: no workload with GPU code sets CUDA_MODULE_LOADING to EAGER or LAZY."


class SizesByLoadingMode(TargetSection):
    """The sizes of each target whose workloads state how GPU code is loaded."""

    order = 210
    chapter = GPU_CODE

    def make_tables(self) -> Iterator[Table]:
        """A row for each target."""
        facts = self.measurements.inputs.facts
        yield compared(
            "sizes_by_loading_mode",
            "Sizes under eager and lazy loading",
            f"{_MODES} {sizes_meaning(self.measurements)}",
            (Column("loading", "Loading"), Column("libraries", "Libraries", 0), *SIZE_COLUMNS),
            [
                target_row(target, {"loading": ", ".join(modes), **libraries_and_sizes(target)})
                for target in self.measurements.targets
                if target.has_gpu_code
                and (modes := sorted({facts(name).loading for name in target.workloads} - {""}))
            ],
            missing=_NO_MODE,
        )


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
            f"{_MODES} {RUNS_MEANING}",
            (Column("loading", "Loading"), *without_energy),
            rows,
            who=(Column("name", "Workload"), target_column(rows)),
            missing=_NO_MODE,
        )
