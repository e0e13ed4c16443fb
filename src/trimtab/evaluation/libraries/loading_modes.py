"""Eager and lazy loading of GPU code: the sizes and the runs of those that state which."""

from functools import cached_property

from trimtab.evaluation.libraries.size_columns import SIZE_COLUMNS, sizes, sizes_meaning
from trimtab.evaluation.report.chapters import GPU_CODE
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    published_rows,
)
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

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """A row for each target."""
        facts = self.measurements.inputs.facts
        rows: list[Row] = [
            {
                "name": target.label,
                "hardware": target.hardware,
                "loading": ", ".join(modes),
                "libraries": len(target.libraries),
                **sizes(target.libraries),
                "source": MEASURED,
            }
            for target in self.measurements.targets
            if target.has_gpu_code
            and (modes := sorted({facts(name).loading for name in target.workloads} - {""}))
        ]
        table = Table(
            "sizes_by_loading_mode",
            titled("Sizes under eager and lazy loading", "sizes_by_loading_mode"),
            f"{_MODES} {sizes_meaning(self.measurements)}",
            (
                Column("name", "Target"),
                HARDWARE_COLUMN,
                Column("loading", "Loading"),
                Column("libraries", "Libraries", 0),
                *SIZE_COLUMNS,
                *SOURCE_COLUMNS,
            ),
            (*rows, *published_rows("sizes_by_loading_mode")),
            _NO_MODE,
        )
        return (table,)


class RunCostByLoadingMode(TargetSection):
    """Memory and time of the workloads that state how GPU code is loaded."""

    order = 220
    chapter = GPU_CODE

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """A row for each workload of each target."""
        rows: list[Row] = [
            run_row(target, workload) | {"loading": mode}
            for target in self.measurements.targets
            if target.has_gpu_code
            for workload in target.workloads
            if (mode := self.measurements.inputs.facts(workload).loading)
        ]
        table = Table(
            "run_cost_by_loading_mode",
            titled("Run-time performance under eager and lazy loading", "run_cost_by_loading_mode"),
            f"{_MODES} {RUNS_MEANING}",
            (
                Column("name", "Workload"),
                target_column(rows),
                HARDWARE_COLUMN,
                Column("loading", "Loading"),
                *(column for column in RUN_COLUMNS if not column.key.startswith("energy")),
                *SOURCE_COLUMNS,
            ),
            (*rows, *published_rows("run_cost_by_loading_mode")),
            _NO_MODE,
        )
        return (table,)
