"""Rule characterize: learning workloads on Spark, at many settings."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a CharacterizeStage, JSON")
parser.add_argument("--output", type=Path, required=True, help="folder of runs.parquet")
arguments = parser.parse_args()

with supervised():
    from trimtab.characterization.characterize import characterize
    from trimtab.config.stages import CharacterizeStage, read

    stage = read(arguments.config, CharacterizeStage)
    characterize(stage, arguments.output, lambda text: print(text, flush=True))
