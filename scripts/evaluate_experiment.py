"""Rule evaluate_experiment: tables, figures, metrics and the report."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="an EvaluateStage, JSON")
parser.add_argument("--manifest", type=Path, required=True, help="files of each stage, JSON")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import EvaluateStage, read
    from trimtab.evaluation.evaluate import evaluate_experiment

    stage = read(arguments.config, EvaluateStage)
    print(evaluate_experiment(stage, arguments.manifest, arguments.output))
