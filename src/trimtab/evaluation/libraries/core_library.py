"""The core library of each target's framework."""

from collections.abc import Iterator
from pathlib import PurePosixPath

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.libraries.size_columns import SIZE_COLUMNS, sizes, sizes_meaning
from trimtab.evaluation.report.section import SIZE, TargetSection
from trimtab.evaluation.report.tables import Column, Table, compared, target_row

TENSORFLOW = "libtensorflow_cc"
# These have a framework's own kernels, although a library of NVIDIA's may be larger.
_CORES = ("libtorch_cuda", TENSORFLOW, "xla_cuda_plugin", "libtorch_cpu")


class CoreLibrary(TargetSection):
    """The core library of each target's framework, before and after."""

    order = 120
    chapter = SIZE

    def make_tables(self) -> Iterator[Table]:
        """A row for each target."""
        cores = [(target, core_library(target)) for target in self.measurements.targets]
        yield compared(
            "core_library",
            "The core shared library",
            "The library that holds the framework's own code; for an unknown framework the "
            f"largest. {sizes_meaning(self.measurements)}",
            (Column("library", "Library"), *SIZE_COLUMNS),
            [
                target_row(target, {"library": str(core["library"].iloc[0]), **sizes(core)})
                for target, core in cores
                if not core.empty
            ],
        )


def core_library(target: DebloatedTarget) -> pd.DataFrame:
    """Return the row of the target's LIBRARIES with its core library; empty without libraries.

    It is the first of PyTorch's for GPUs, TensorFlow's, XLA's and PyTorch's for CPUs, or else the
    largest library.
    """
    stems = target.libraries["library"].map(_stem)
    for core in _CORES:
        if (stems == core).any():
            return target.libraries[stems == core].head(1)
    return target.libraries.nlargest(1, "size_before_bytes")


def is_tensorflow(target: DebloatedTarget) -> bool:
    """Return whether the target's core library is TensorFlow's."""
    return any(_stem(str(name)) == TENSORFLOW for name in core_library(target)["library"])


def _stem(library: str) -> str:
    return PurePosixPath(library).name.split(".")[0]
