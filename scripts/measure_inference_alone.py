"""Rule measure_inference_alone: what inference costs with no training beside it."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a TuneStage, JSON")
parser.add_argument("--output", type=Path, required=True, help="inference_alone.parquet")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import TuneStage, read
    from trimtab.locks import folder_lock
    from trimtab.records.tuning.inference import MeasuredInference
    from trimtab.tuning.inference.alone import measure_alone
    from trimtab.tuning.inference.effort import MeasurementCost
    from trimtab.tuning.inference.of_workload import inference_cpus, measured
    from trimtab.tuning.request import Request

    request = Request.of(read(arguments.config, TuneStage), arguments.output.parent)
    cpus = sorted(os.sched_getaffinity(0))
    cpus = cpus[-inference_cpus(len(cpus), request.tuning) :]

    def measure(
        architecture: Mapping[str, Any], configuration: Mapping[str, Any], folder: Path
    ) -> MeasuredInference:
        assert request.inference_workload is not None
        of, effort = request.inference_workload, MeasurementCost()
        return measured(of, request.hardware, effort, architecture, configuration, cpus, folder)

    with folder_lock(arguments.output.parent):
        told = arguments.output.with_name("inference.parquet")
        measure_alone(told, arguments.output, measure)
