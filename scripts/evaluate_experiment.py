"""Rule evaluate_experiment: tables, figures, metrics and the report."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="an EvaluateStage, JSON")
parser.add_argument("--usages", type=Path, nargs="*", default=[], help="usage.json of profiles")
parser.add_argument("--manifests", type=Path, nargs="*", default=[], help="of debloated targets")
parser.add_argument("--summaries", type=Path, nargs="*", default=[], help="of scheduled cells")
parser.add_argument("--traces", type=Path, nargs="*", default=[], help="trace.json")
parser.add_argument("--deflators", type=Path, nargs="*", default=[], help="deflator_*.json")
parser.add_argument("--tunings", type=Path, nargs="*", default=[], help="trials.parquet")
parser.add_argument("--growths", type=Path, nargs="*", default=[], help="lines.parquet")
parser.add_argument("--fleets", type=Path, nargs="*", default=[], help="fleet.json")
parser.add_argument("--characterizations", type=Path, nargs="*", default=[], help="runs.parquet")
parser.add_argument("--protected", type=Path, nargs="*", default=[], help="runs.parquet")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import EvaluateStage, read
    from trimtab.evaluation.evaluate import evaluate_experiment

    report = evaluate_experiment(
        read(arguments.config, EvaluateStage),
        arguments.usages,
        arguments.manifests,
        arguments.summaries,
        arguments.traces,
        arguments.deflators,
        arguments.tunings,
        arguments.growths,
        arguments.fleets,
        arguments.characterizations,
        arguments.protected,
        arguments.output,
    )
    print(report)
