"""Batch times of the project's own models on this machine: the `models` of its YAML.

Models that two machines have in common correct the scale of their rooflines. Leaving each one out
in turn gives the error (tuning.inference.roofline).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.tuning.inference.emulation import InferenceConfiguration
from trimtab.tuning.inference.serving import served
from trimtab.tuning.scoring.score import Failure

NAME = "models"
WORKLOADS = ("lenet5_inference", "lstm_inference", "mobilenetv2_inference", "transformer_inference")
_SIZES = (1, 16)


def model_times(workloads: Sequence[Workload], folder: Path) -> list[dict[str, Any]]:
    """Return `workload`, `batch_size`, `cores` and `batch_s`, each on one core at full speed.

    Raises UserError where a workload cannot run here.
    """
    found = []
    for workload in workloads:
        for size in _SIZES:
            here = folder / f"{workload.name}_{size}"
            asked = InferenceConfiguration(size, 1)
            result = served(workload, {}, asked, NO_POWER_MODEL, here, is_this_machine=False)
            if isinstance(result, Failure):
                raise UserError(f"probing task {NAME}: {workload.name}: {result.reason}")
            batch_s = float(f"{result.inference_s * size:.4g}")
            found.append(
                {"workload": workload.name, "batch_size": size, "cores": 1, "batch_s": batch_s}
            )
    return found
