"""From what `gpu.py` measured to small files to keep: `benchmarks/results/NAME/`.

    python benchmarks/gpu_results.py NAME FOLDER [FOLDER ...]

evaluates all targets of the folders as one experiment, and keeps its tables, figures and metrics,
a row for every library and every run, and which targets could not be verified.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
from common import RESULTS

from trimtab.config import Configurations
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import EvaluationInputs, WorkloadFacts
from trimtab.files import read_json, write_json
from trimtab.records.manifest import Manifest
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import LIBRARIES, RUNS
from trimtab.records.verdict import Verdict

FIGURES = ("cpu_and_gpu_code", "reasons_of_removal")  # the others are megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="of the machine: a hardware YAML's")
    parser.add_argument("folders", type=Path, nargs="+", help="outputs of gpu.py, the newest last")
    given = parser.parse_args()
    destination = RESULTS / given.name
    shutil.rmtree(destination, ignore_errors=True)
    destination.mkdir(parents=True)
    targets: dict[tuple[str, str], Path] = {}
    failed: dict[str, Any] = {}
    for folder in given.folders:
        for manifest in sorted(folder.glob("debloat/*/*/manifest.json")):
            key = (manifest.parts[-3], manifest.parts[-2])
            problem = manifest.parent / "failure" / "verify.json"
            if (manifest.parent / "verify.json").is_file():
                targets[key] = manifest.parent
                failed.pop(key[0], None)
            elif problem.is_file():
                calls = Verdict.read(problem).removed_calls
                failed[key[0]] = {
                    "hardware": key[1],
                    "removed_calls": len(calls),
                    "first": calls[0].name if calls else "",
                }
    newest = {name: folder for (name, _), folder in targets.items()}
    for name, folder in newest.items():
        seconds = read_json(folder / "seconds.json")
        seconds["trace_s"] = Manifest.read(folder / "manifest.json").timings.trace_s
        write_json(destination / "seconds" / f"{name}.json", seconds)
    # Profiles were made several at a time: their runs tell what was used, not what it costs.
    scratch = destination / ".profiles"
    profiles = []
    for original in (_profile_of(folder) for folder in newest.values()):
        profile = scratch / original.parent.name / original.name
        shutil.copytree(original, profile)
        profiles.append(profile)
        runs = read_table(profile / "runs.parquet", RUNS)
        measured = original.parents[2] / "overhead" / "runs.parquet"
        alone = runs[runs["condition"] == "original"]
        if measured.is_file():
            compared = read_table(measured, RUNS)
            if set(compared["workload"]) == set(runs["workload"]):
                alone = compared
                compared.to_csv(destination / "overhead.csv", index=False)
        write_table(profile / "runs.parquet", RUNS, alone)
    workloads = Configurations(Path("conf"))
    facts = {}
    for profile in profiles:
        workload = workloads.option("workload", profile.parent.name)
        facts[workload.name] = WorkloadFacts(
            workload.dataset, workload.model, workload.framework, workload.env
        )
    machines = [path for folder in given.folders for path in sorted(folder.glob("machine-*.json"))]
    write_json(destination / "machines.json", [read_json(path) for path in machines])
    date = read_json(machines[-1])["date"]
    report = destination / ".report"
    evaluate(
        EvaluationInputs(
            given.name,
            "one or two NVIDIA H200",
            date,
            {
                "profile": [folder / "usage.json" for folder in profiles],
                "debloat": [folder / "manifest.json" for folder in newest.values()],
            },
            workloads=facts,
        ),
        report,
    )
    shutil.move(report / "tables", destination / "tables")
    for derived in ("libraries", "epochs"):
        (destination / "tables" / f"{derived}.csv").unlink()
    shutil.move(report / "metrics.json", destination / "metrics.json")
    (destination / "figures").mkdir()
    for figure in FIGURES:
        shutil.move(report / "figures" / f"{figure}.svg", destination / "figures")
    shutil.move(report / "report.html", Path("build") / f"report-{given.name}.html")
    shutil.rmtree(report)
    shutil.rmtree(scratch)
    libraries = [read_table(folder / "libraries.parquet", LIBRARIES) for folder in newest.values()]
    pd.concat(libraries).to_csv(destination / "libraries.csv", index=False)
    runs = [read_table(folder / "verify_runs.parquet", RUNS) for folder in newest.values()]
    pd.concat(runs).to_csv(destination / "runs.csv", index=False)
    cold = [read_table(path, RUNS) for f in given.folders for path in f.glob("cold/*/runs.parquet")]
    if cold:
        pd.concat(cold).to_csv(destination / "cold.csv", index=False)
    operations = {
        path.stem: read_json(path)
        for folder in given.folders
        for path in sorted(folder.glob("operations/*.json"))
    }
    write_json(destination / "operations.json", operations)
    write_json(destination / "not_verified.json", failed)


def _profile_of(target: Path) -> Path:
    """The profile of the one workload that each target of these experiments has."""
    (workload,) = Manifest.read(target / "manifest.json").workloads
    return target.parents[2] / "profile" / workload / target.name


if __name__ == "__main__":
    main()
