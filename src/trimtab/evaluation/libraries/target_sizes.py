"""The sizes of each target's libraries: all of them, their core, by loading mode, large models."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.libraries.size_columns import (
    REASON_COLUMNS,
    SIZE_COLUMNS,
    libraries_and_sizes,
    sizes,
    sizes_meaning,
)
from trimtab.evaluation.report.key_figures import KeyFigure, less
from trimtab.evaluation.report.section import GPU_CODE, SIZE, TargetSection
from trimtab.evaluation.report.tables import Column, Row, Table, compared, target_row

MODES = (
    "Eager loading puts all kernels of a library into memory when the program starts, lazy loading "
    "each when it is first used."
)
NO_MODE = "Not measured: no workload with GPU code sets CUDA_MODULE_LOADING to EAGER or LAZY."
_LLM = re.compile(
    r"(?<![a-z])(command[-_ ]?r|gemma|gpt|internlm|llama|mistral|mixtral|phi|qwen|yi|zephyr)"
    r"(?![a-z])",
    re.IGNORECASE,
)
TENSORFLOW = "libtensorflow_cc"
# A framework's own kernels are here, although a library of NVIDIA's may be larger.
_CORES = ("libtorch_cuda", TENSORFLOW, "xla_cuda_plugin", "libtorch_cpu")


class LibrariesTotal(TargetSection):
    """What all libraries of each target were, and by how much that fell."""

    order = 110
    chapter = SIZE

    def make_tables(self) -> Iterator[Table]:
        """A row for each target."""
        yield compared(
            "libraries_total",
            "All shared libraries",
            "Original totals over every shared library that the workloads of the target load from "
            "the environment, and by how much debloating lowered them. "
            f"{sizes_meaning(self.measurements)}",
            (
                Column("libraries", "Libraries", 0),
                Column("libraries_debloated", "of them debloated", 0),
                *SIZE_COLUMNS,
                *REASON_COLUMNS,
            ),
            [
                target_row(target, libraries_and_sizes(target))
                for target in self.measurements.targets
            ],
        )

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield what went of each target's code; the files are those of the sizes."""
        for row in self.tables[0].ours:
            name = str(row["name"])
            yield name, less("Bytes of CPU functions", row, "cpu_code", "mb")
            yield name, less("Number of functions", row, "functions")
            if row["gpu_code_mb"] is not None:
                yield name, less("Bytes of GPU code", row, "gpu_code", "mb")
                yield name, less("Elements of GPU code", row, "elements")

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each target."""
        return {"targets": self.tables[0].by_row("name")}


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


class LargeModels(TargetSection):
    """The sizes of targets that run a large language model or several GPUs."""

    order = 230
    chapter = GPU_CODE

    def make_tables(self) -> Iterator[Table]:
        """A row for each such target."""
        rows: list[Row] = []
        for target in self.measurements.targets:
            facts = [self.measurements.inputs.facts(name) for name in target.workloads]
            models = sorted({fact.model for fact in facts} - {""})
            usages = self.measurements.usages(target).values()
            gpus = max((len(usage.gpus) for usage in usages), default=0)
            if gpus > 1 or any(_LLM.search(model) for model in models):
                frameworks = sorted({fact.framework for fact in facts} - {""})
                of_it = {"model": ", ".join(models), "framework": ", ".join(frameworks)}
                values = {**of_it, "gpus": gpus, **libraries_and_sizes(target)}
                rows.append(target_row(target, values))
        yield compared(
            "sizes_of_large_models",
            "Large language models and several GPUs",
            "Targets with a large language model, and targets that run where they see several "
            f"GPUs. {sizes_meaning(self.measurements)}",
            (
                Column("model", "Model", in_report=False),
                Column("framework", "Framework", in_report=False),
                Column("gpus", "GPUs", 0),
                Column("libraries", "Libraries", 0),
                *SIZE_COLUMNS,
            ),
            rows,
            missing="Not measured: no target runs a large language model or sees several GPUs.",
        )


class CoreLibrary(TargetSection):
    """What became of the core library of each target's framework."""

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
            ],
        )


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
