"""From the files of the other stages to tables, figures, metrics and the report."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab.config.stages import EvaluateStage
from trimtab.evaluation.inputs.measurements import EvaluationInputs, WorkloadFacts
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.outcome.section import outcome_of
from trimtab.evaluation.report.page import render
from trimtab.evaluation.report.section import find_sections
from trimtab.files import atomic_write, read_json, write_json


def evaluate_experiment(stage: EvaluateStage, manifest: Path, destination: Path) -> Path:
    """Write the evaluation to `destination` and return its `report.html`, as `evaluate` does.

    `manifest` is a JSON file: for each stage the files that it hands on. The report's date is that
    of the newest profile, or without any of the newest file.
    """
    files = {name: [*map(Path, paths)] for name, paths in read_json(manifest).items()}
    dated = files.get("profile") or [path for paths in files.values() for path in paths]
    newest = max((path.stat().st_mtime for path in dated), default=0.0)
    options = {group: {one.name: one for one in of} for group, of in stage.options.items()}
    ran_on = [
        machine
        for machine in options.get("hardware", {}).values()
        if machine.name in stage.experiment.hardware
    ]
    return evaluate(
        EvaluationInputs(
            experiment=stage.experiment.name,
            machine="; ".join(machine.description or machine.name for machine in ran_on),
            date=f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%d}",
            files=files,
            title=stage.experiment.title,
            options=options,
            workloads={
                it.name: WorkloadFacts(it.dataset, it.model, it.framework, it.env, it.description)
                for it in options.get("workload", {}).values()
            },
        ),
        destination,
    )


def evaluate(inputs: EvaluationInputs, destination: Path) -> Path:
    """Write the evaluation of an experiment to `destination` and return its `report.html`.

    Every section that applies to the experiment writes its tables to `tables/{name}.csv` and its
    figures to `figures/{name}.svg`. Then come `metrics.json`, `outcome.json` and, last, the report.
    A failed verification is reported, not raised. Raises UserError and TrimtabError as inputs.load
    does, before anything is written.
    """
    measurements = load(inputs)
    made = [kind(measurements) for kind in find_sections()]
    sections = [section for section in made if section.applies]
    outcome = outcome_of(measurements)
    page = render(measurements, sections, outcome)
    for folder in ("tables", "figures"):  # outputs of the rule, also where they stay empty
        (destination / folder).mkdir(parents=True, exist_ok=True)
    for section in sections:
        for table in section.tables:
            table.write_csv(destination / "tables")
        for figure in section.figures:
            figure.write_svg(destination / "figures")
    write_json(destination / "metrics.json", merged(section.metrics() for section in sections))
    outcome.write(destination / "outcome.json")
    report = destination / "report.html"
    with atomic_write(report) as temporary:
        temporary.write_text(page)
    return report


def merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return nested mappings merged into one, recursively."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            is_nested = isinstance(value, Mapping)
            whole[key] = merged([whole.get(key, {}), value]) if is_nested else value
    return whole
