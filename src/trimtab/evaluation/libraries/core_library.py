"""The core library of a target's framework, which Tables 3, 4 and 9 look into."""

from pathlib import PurePosixPath

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget

TENSORFLOW = "libtensorflow_cc"
# A framework's own kernels are here, although a library of NVIDIA's may be larger.
_CORES = ("libtorch_cuda", TENSORFLOW, "xla_cuda_plugin", "libtorch_cpu")


def core_library(target: DebloatedTarget) -> pd.DataFrame:
    """Return the one row of the target's LIBRARIES with its framework's core library.

    It is the first of PyTorch's for GPUs, TensorFlow's, XLA's and PyTorch's for CPUs that the
    target has, and otherwise its largest library.
    """
    stems = target.libraries["library"].map(_stem)
    for core in _CORES:
        if (stems == core).any():
            return target.libraries[stems == core].head(1)
    return target.libraries.nlargest(1, "size_before_bytes")


def is_tensorflow(target: DebloatedTarget) -> bool:
    """Return whether the target's core library is TensorFlow's."""
    return _stem(str(core_library(target)["library"].iloc[0])) == TENSORFLOW


def _stem(library: str) -> str:
    return PurePosixPath(library).name.split(".")[0]
