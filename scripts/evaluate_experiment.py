"""Rule evaluate_experiment: tables, figures, metrics and the report."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from trimtab.config.stages import EvaluateStage, load
from trimtab.errors import exit_on_error
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.measurements import Inputs, WorkloadFacts

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="an EvaluateStage as JSON")
parser.add_argument("--profiles", type=Path, nargs="+", required=True, help="folders of profiles")
parser.add_argument("--debloats", type=Path, nargs="+", required=True, help="folders of targets")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, EvaluateStage)
    newest_run = max((folder / "usage.json").stat().st_mtime for folder in arguments.profiles)
    report = evaluate(
        Inputs(
            experiment=stage.experiment.name,
            machine="; ".join(machine.description or machine.name for machine in stage.hardware),
            date=f"{datetime.fromtimestamp(newest_run, UTC):%Y-%m-%d}",
            profiles=tuple(arguments.profiles),
            debloats=tuple(arguments.debloats),
            workloads={
                workload.name: WorkloadFacts(
                    data_set=workload.dataset,
                    model=workload.model,
                    framework=workload.framework,
                    environment=workload.env,
                )
                for workload in stage.workloads
            },
        ),
        arguments.output,
    )
    print(report)
