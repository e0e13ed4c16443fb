"""Rule protect_program: a task program in enclaves, run here and simulated."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a ProtectStage, JSON")
parser.add_argument("--output", type=Path, required=True, help="folder of runs.parquet")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import ProtectStage, read
    from trimtab.secure_tasks.protection.protect import protect

    stage = read(arguments.config, ProtectStage)
    protect(stage, arguments.output, lambda text: print(text, flush=True))
