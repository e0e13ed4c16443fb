"""The schedule experiments, run: verdicts on published statements, or figures of their cells.

python benchmarks/schedules.py                # all that need nothing but this project
python benchmarks/schedules.py heats_slurm dias_slurm dias_spark
TRIMTAB_TRACES=FOLDER python benchmarks/schedules.py recorded
"""

import argparse
import csv
import json
import subprocess
from pathlib import Path
from typing import Any

from common import load, save

PROJECT = Path(__file__).parents[1]
_MOST_CLASSES = 8  # recorded traces have over a hundred
SIMULATED = (
    "heats", "heats_assumptions", "dias_two_priorities", "dias_three_priorities", "dias_sprinting"
)  # fmt: skip
_OF_A_VERDICT = (
    "statement", "name", "trace", "job_class", "quantity", "published_value", "ours", "verdict"
)  # fmt: skip


def main() -> None:
    """Run the experiments and add what they gave to benchmarks/results/schedules.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", default=SIMULATED)
    given = parser.parse_args()
    earlier: Any = load("schedules") or {}
    found: dict[str, Any] = dict(earlier.get("experiments", {}))
    verdicts: dict[str, Any] = dict(earlier.get("verdicts", {}))
    for experiment in given.experiments:
        overrides = f'overrides=["experiment={experiment}"]'
        command = ["snakemake", "--quiet", "all", "--cores", "all", "all", "--config", overrides]
        subprocess.run(command, cwd=PROJECT, check=True)
        evaluated = PROJECT / "results/evaluate" / experiment
        metrics = json.loads((evaluated / "metrics.json").read_text())
        table = evaluated / "tables/schedule_verdicts.csv"
        if table.exists():
            with table.open(newline="") as file:
                verdicts[experiment] = [
                    {name: row[name] for name in _OF_A_VERDICT} for row in csv.DictReader(file)
                ]
            found.pop(experiment, None)
            continue
        cells = {tuple(key.split("/")[:3]) for key in metrics["schedule"]}
        found[experiment] = {
            "/".join(cell): _cell(*cell, metrics["schedule"]) for cell in sorted(cells)
        }
    save("schedules", {"experiments": found, "verdicts": verdicts})


def _cell(cluster: str, trace: str, policy: str, metrics: dict[str, float]) -> dict[str, Any]:
    """Return the figures of a cell: simulated, by formula and real, as far as there are any."""
    prefix, error = f"{cluster}/{trace}/{policy}/", "/simulated_real_error_pct"
    folder = PROJECT / "results/schedule" / cluster / trace / policy
    summary = json.loads((folder / "summary.json").read_text())
    figures: dict[str, Any] = {"all": summary["all"]}
    if len(summary["classes"]) <= _MOST_CLASSES:
        figures["classes"] = summary["classes"]
    for name in ("formula", "real"):
        path = folder / f"{name}.json"
        if path.exists():
            figures[name] = json.loads(path.read_text())
    if "real" in figures:
        figures["simulated_real_error_pct"] = {
            key.removeprefix(prefix).removesuffix(error): value
            for key, value in metrics.items()
            if key.startswith(prefix) and key.endswith(error)
        }
    return figures


if __name__ == "__main__":
    main()
