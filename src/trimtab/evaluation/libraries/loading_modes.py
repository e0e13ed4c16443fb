"""The sizes of targets under eager and lazy loading of GPU code."""

from collections.abc import Iterator

from trimtab.evaluation.libraries.size_columns import (
    SIZE_COLUMNS,
    libraries_and_sizes,
    sizes_meaning,
)
from trimtab.evaluation.report.section import GPU_CODE, TargetSection
from trimtab.evaluation.report.tables import Column, Table, compared, target_row

MODES = (
    "Eager loading puts all kernels of a library into memory when the program starts, lazy loading "
    "each when it is first used."
)
NO_MODE = "Not measured: no workload with GPU code sets CUDA_MODULE_LOADING to EAGER or LAZY."


class SizesByLoadingMode(TargetSection):
    """The sizes of each target whose workloads state the loading of GPU code."""

    order = 210
    chapter = GPU_CODE

    def make_tables(self) -> Iterator[Table]:
        """A row for each target."""
        facts = self.measurements.inputs.facts
        yield compared(
            "sizes_by_loading_mode",
            "Sizes under eager and lazy loading",
            f"{MODES} {sizes_meaning(self.measurements)}",
            (Column("loading", "Loading"), Column("libraries", "Libraries", 0), *SIZE_COLUMNS),
            [
                target_row(target, {"loading": ", ".join(modes), **libraries_and_sizes(target)})
                for target in self.measurements.targets
                if target.has_gpu_code
                and (modes := sorted({facts(name).loading for name in target.workloads} - {""}))
            ],
            missing=NO_MODE,
        )
