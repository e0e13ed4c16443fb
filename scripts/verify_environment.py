"""Rule verify_environment: the same output in the slim environment, and what it costs there."""

import argparse
from pathlib import Path

from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a VerifyStage, JSON")
parser.add_argument("--environment", type=Path, required=True, help="folder of the environment")
parser.add_argument("--manifest", type=Path, required=True, help="manifest.json of the target")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised(), folder_lock(arguments.output):
    from trimtab.config.stages import VerifyStage, read
    from trimtab.debloating.snapshots.installing import remove_snapshots
    from trimtab.debloating.verification.verify import verify_environment
    from trimtab.profiling.profile import model_of

    stage = read(arguments.config, VerifyStage)
    remove_snapshots(arguments.environment)  # the rule save_start makes them again
    verify_environment(
        stage.target,
        stage.workloads,
        model_of(stage.hardware),
        arguments.environment,
        arguments.manifest,
        stage.verify.repeats,
        arguments.output,
    )
