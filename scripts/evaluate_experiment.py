"""Rule evaluate_experiment: tables, figures, metrics and the report."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from trimtab.config.stages import EvaluateStage, load
from trimtab.errors import exit_on_error
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import Inputs, WorkloadFacts
from trimtab.evaluation.inputs.schedules import Probe

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="an EvaluateStage as JSON")
parser.add_argument("--usages", type=Path, nargs="*", default=[], help="usage.json of profiles")
parser.add_argument("--manifests", type=Path, nargs="*", default=[], help="of debloated targets")
parser.add_argument("--summaries", type=Path, nargs="*", default=[], help="of scheduled cells")
parser.add_argument("--traces", type=Path, nargs="*", default=[], help="trace.json")
parser.add_argument("--deflators", type=Path, nargs="*", default=[], help="deflator_*.json")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with exit_on_error():
    stage = load(arguments.config, EvaluateStage)
    measured = arguments.usages or arguments.summaries
    newest_run = max(path.stat().st_mtime for path in measured)
    ran_on = [machine for machine in stage.hardware if machine.name in stage.experiment.hardware]
    report = evaluate(
        Inputs(
            experiment=stage.experiment.name,
            machine="; ".join(machine.description or machine.name for machine in ran_on),
            date=f"{datetime.fromtimestamp(newest_run, UTC):%Y-%m-%d}",
            profiles=tuple(path.parent for path in arguments.usages),
            debloats=tuple(path.parent for path in arguments.manifests),
            schedules=tuple(path.parent for path in arguments.summaries),
            traces=tuple(arguments.traces),
            deflators=tuple(arguments.deflators),
            probes=tuple(
                Probe(
                    node_type=machine.name,
                    task=probe.task,
                    governor=f"level {probe.level}",
                    cores=probe.cores,
                    work=probe.work,
                    wall_s=probe.wall_s,
                    energy_j=probe.energy_j,
                    source=probe.energy_source,
                )
                for machine in stage.hardware
                for probe in machine.probes
            ),
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
