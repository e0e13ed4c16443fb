"""Rule tune_workload: the best parameters of a workload, by a tuner for an objective."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a TuneStage, JSON")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import TuneStage, read
    from trimtab.locks import folder_lock
    from trimtab.progress import run_done, runs_to_do
    from trimtab.tuning.tune import Request, tune

    stage = read(arguments.config, TuneStage)
    request = Request.of(stage, arguments.output)
    # Beside the results of all workloads and objectives, whose jobs may know each other.
    ground_truth = arguments.output.parents[2] / "ground_truth.json"
    what = f"tune {stage.workload.name} by {stage.tuner.name}"
    with folder_lock(arguments.output), runs_to_do(what, None):
        seeds = list(range(1, stage.seeds + 1))
        tune(request, seeds, arguments.output, ground_truth, lambda *_: run_done(), stage.database)
