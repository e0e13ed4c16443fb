"""The evaluation of an experiment, from its configuration and the files of its cells."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from trimtab.config.stages import EvaluateStage
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import Inputs, WorkloadFacts


def evaluate_experiment(
    stage: EvaluateStage,
    usages: Sequence[Path],
    manifests: Sequence[Path],
    summaries: Sequence[Path],
    traces: Sequence[Path],
    deflators: Sequence[Path],
    destination: Path,
) -> Path:
    """Write the evaluation to `destination` and return its `report.html`, as `evaluate` does.

    `usages` are the usage.json of profiles, `manifests` the manifest.json of debloated targets,
    `summaries` the summary.json of scheduled cells, each among the other files of its cell;
    `traces` are trace.json, `deflators` deflator_{objective}.json. The report's date is that of the
    newest profile, or without any of the newest cell.
    """
    newest = max(path.stat().st_mtime for path in usages or summaries)
    ran_on = [machine for machine in stage.hardware if machine.name in stage.experiment.hardware]
    return evaluate(
        Inputs(
            experiment=stage.experiment.name,
            machine="; ".join(machine.description or machine.name for machine in ran_on),
            date=f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%d}",
            profiles=tuple(path.parent for path in usages),
            debloats=tuple(path.parent for path in manifests),
            schedules=tuple(path.parent for path in summaries),
            traces=tuple(traces),
            deflators=tuple(deflators),
            probes={machine.name: machine.probes for machine in stage.hardware},
            workloads=_facts(stage),
        ),
        destination,
    )


def _facts(stage: EvaluateStage) -> dict[str, WorkloadFacts]:
    return {
        workload.name: WorkloadFacts(
            data_set=workload.dataset,
            model=workload.model,
            framework=workload.framework,
            environment=workload.env,
        )
        for workload in stage.workloads
    }
