"""What the earlier stages left, read and checked."""

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab.errors import UserError
from trimtab.evaluation.inputs import stages
from trimtab.evaluation.inputs.measurements import EvaluationInputs, Measurements


def load(inputs: EvaluationInputs) -> Measurements:
    """Read the files of `inputs` and check that they belong together.

    Raises UserError for a missing file, an incomplete trace, or a missing profile of a target's
    workload, and TrimtabError when a file contradicts itself.
    """
    if not any(files for stage, files in inputs.files.items() if stage != "profile"):
        raise UserError(
            f"experiment {inputs.experiment}: no results were given of any stage after the profile"
        )
    results = {stage: _read(stage, files, inputs) for stage, files in inputs.files.items() if files}
    measurements = Measurements(inputs, results)
    profiled = {(p.workload, p.hardware) for p in measurements.profiles}
    for target in measurements.targets:
        for workload in target.workloads:
            if (workload, target.hardware) not in profiled:
                raise UserError(
                    f"target {target.label} was debloated for the workload {workload} on "
                    f"{target.hardware}, whose profile is not among the inputs: add its folder"
                )
    if len({target.hardware for target in measurements.targets}) > 1:
        for stage in ("debloat", "profile"):
            results[stage] = tuple(
                replace(one, label=f"{one.label} on {one.hardware}") for one in results[stage]
            )
    return measurements


def _read(stage: str, files: Sequence[Path], inputs: EvaluationInputs) -> Any:
    if stage not in {module.name for module in pkgutil.iter_modules(stages.__path__)}:
        raise UserError(f"experiment {inputs.experiment}: {stage!r} is no stage of a report")
    return importlib.import_module(f"{stages.__name__}.{stage}").read(files, inputs)
