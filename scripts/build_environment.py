"""Rule build_environment: the runnable environment with the slim libraries in it."""

import argparse
from pathlib import Path

from trimtab.config.stages import EnvironmentStage, load
from trimtab.debloating.environment import build_environment
from trimtab.errors import exit_on_error

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="an EnvironmentStage as JSON")
parser.add_argument("--libraries", type=Path, required=True, help="tar of the slim libraries")
parser.add_argument("--manifest", type=Path, required=True, help="manifest.json of the target")
parser.add_argument("--spans", type=Path, required=True, help="folder of the libraries' spans")
parser.add_argument("--output", type=Path, required=True, help="folder of the environment")
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, EnvironmentStage)
    build_environment(
        Path(stage.python),
        arguments.libraries,
        arguments.manifest,
        stage.share,
        arguments.output,
        arguments.spans,
        stage.fallback,
    )
