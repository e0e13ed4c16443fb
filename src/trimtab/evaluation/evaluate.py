"""From the files of the other stages to tables, figures, metrics and the report."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab.config.stages import EvaluateStage
from trimtab.evaluation.inputs.measurements import EvaluationInputs, TaskProgramFacts, WorkloadFacts
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.outcome.section import outcome_of
from trimtab.evaluation.report.page import render
from trimtab.evaluation.report.section import find_sections
from trimtab.files import atomic_write, write_json


def evaluate_experiment(
    stage: EvaluateStage,
    usages: Sequence[Path],
    manifests: Sequence[Path],
    summaries: Sequence[Path],
    traces: Sequence[Path],
    deflators: Sequence[Path],
    tunings: Sequence[Path],
    growths: Sequence[Path],
    fleets: Sequence[Path],
    characterizations: Sequence[Path],
    protected: Sequence[Path],
    destination: Path,
) -> Path:
    """Write the evaluation to `destination` and return its `report.html`, as `evaluate` does.

    `usages` are the usage.json of profiles, `manifests` the manifest.json of debloated targets,
    `summaries` the summary.json of scheduled cells, each among the other files of its cell;
    `traces` are trace.json, `deflators` deflator_{objective}.json, `tunings` the trials.parquet
    of tuned cells, `growths` lines.parquet, `fleets` the fleet.json of images that share layers,
    `characterizations` runs.parquet of characterized workloads, `protected` those of task programs.
    The report's date is that of the newest profile, or without any of the newest of the rest.
    """
    others = [*summaries, *tunings, *growths, *fleets, *characterizations, *protected]
    newest = max(path.stat().st_mtime for path in usages or others)
    ran_on = [machine for machine in stage.hardware if machine.name in stage.experiment.hardware]
    return evaluate(
        EvaluationInputs(
            experiment=stage.experiment.name,
            machine="; ".join(machine.description or machine.name for machine in ran_on),
            date=f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%d}",
            title=stage.experiment.title,
            profiles=tuple(path.parent for path in usages),
            debloats=tuple(path.parent for path in manifests),
            schedules=tuple(path.parent for path in summaries),
            tunings=tuple(path.parent for path in tunings),
            growths=tuple(growths),
            fleets=tuple(fleets),
            characterizations=tuple(characterizations),
            protected=tuple(protected),
            task_programs={
                it.name: TaskProgramFacts(
                    it.label or it.name, it.published, it.macro, it.size, it.block
                )
                for it in stage.task_programs
            },
            tuners={tuner.name: tuner.label for tuner in stage.tuners},
            after={tuner.name: tuner.after for tuner in stage.tuners if tuner.after is not None},
            traces=tuple(traces),
            deflators=tuple(deflators),
            probes={machine.name: machine.probes for machine in stage.hardware},
            workloads={
                it.name: WorkloadFacts(it.dataset, it.model, it.framework, it.env, it.description)
                for it in stage.workloads
            },
        ),
        destination,
    )


def evaluate(inputs: EvaluationInputs, destination: Path) -> Path:
    """Write the evaluation of an experiment to `destination` and return its `report.html`.

    Every section that applies to the experiment writes its tables to `tables/{name}.csv` and its
    figures to `figures/{name}.svg`. Then come `metrics.json`, `outcome.json` and, last, the report.
    A verification that failed is reported, not raised. Raises UserError and TrimtabError as
    inputs.load does, before anything is written.
    """
    measurements = load(inputs)
    made = [kind(measurements) for kind in find_sections()]
    sections = [section for section in made if section.applies]
    page = render(measurements, sections)
    for section in sections:
        for table in section.tables:
            table.write_csv(destination / "tables")
        for figure in section.figures:
            figure.write_svg(destination / "figures")
    write_json(destination / "metrics.json", merged(section.metrics() for section in sections))
    outcome_of(measurements).write(destination / "outcome.json")
    report = destination / "report.html"
    with atomic_write(report) as temporary:
        temporary.write_text(page)
    return report


def merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return nested mappings as one: what several of them hold under one key is merged too."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            is_nested = isinstance(value, Mapping)
            whole[key] = merged([whole.get(key, {}), value]) if is_nested else value
    return whole
