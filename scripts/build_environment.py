"""Rule build_environment: the runnable environment with the slim libraries in it."""

import argparse
from pathlib import Path

from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="an EnvironmentStage, JSON")
parser.add_argument("--manifest", type=Path, required=True, help="beside libraries/ and spans/")
parser.add_argument("--output", type=Path, required=True, help="folder of the environment")
arguments = parser.parse_args()

with supervised(), folder_lock(arguments.manifest.parent):
    from trimtab.config.stages import EnvironmentStage, read
    from trimtab.debloating.fallback import Source
    from trimtab.debloating.targets.registry import target_at
    from trimtab.records.manifest import Manifest

    stage = read(arguments.config, EnvironmentStage)
    target = target_at(Manifest.read(arguments.manifest).environment)
    target.build(arguments.manifest.parent, stage.share, Source.of(stage), arguments.output)
