"""Rule save_start: later starts of the slim environment's programs go on from snapshots."""

import argparse
from pathlib import Path

from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a StartStage, JSON")
parser.add_argument("--environment", type=Path, required=True, help="folder of the environment")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised(), folder_lock(arguments.output):
    from trimtab.config.groups.debloat import Start
    from trimtab.config.stages import StartStage, read
    from trimtab.debloating.snapshots.starts import save_starts

    stage = read(arguments.config, StartStage)
    workloads = stage.workloads if stage.start == Start.SNAPSHOT else ()
    save_starts(stage.target, stage.hardware, workloads, arguments.environment, arguments.output)
