"""Rule run_for_real: the jobs of a trace on a real Spark or Slurm."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a RealStage, JSON")
parser.add_argument("--trace", type=Path, required=True, help="trace.parquet")
parser.add_argument("--facts", type=Path, required=True, help="trace.json")
parser.add_argument("--simulated", type=Path, required=True, help="jobs.parquet")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import RealStage, read
    from trimtab.scheduling.real import run_for_real
    from trimtab.scheduling.setting import setting_of

    stage = read(arguments.config, RealStage)
    run_for_real(
        setting_of(stage, arguments.trace, arguments.facts),
        stage.policy,
        stage.platform,
        stage.scale,
        arguments.simulated,
        arguments.output,
    )
