"""What the characterizations that ran in this checkout came to, against what they have to reach.

    python benchmarks/characterization.py EXPERIMENT...

The experiments have run: `snakemake --cores 2 all --config overrides='["experiment=NAME"]'`. Their
runs, and the figures and tables of their reports, are kept in `results/characterization/`.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
from common import RESULTS, load, save

from trimtab.files import read_json
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import CHARACTERIZATION_RUNS

# By experiment: its characterization.
EXPERIMENTS = {
    "characterization": "carried_data",
    "characterization_networks": "carried_networks",
    "characterization_small": "small",
    "characterization_standalone": "small_standalone",
}
_KEPT = RESULTS / "characterization"
_NAMED = {"engines": "engine", "workloads": "workload", "data_sets": "data", "methods": "method"}
_MACHINE = "this_machine"
_LONGEST_STEP_S = 180.0


def main() -> None:
    """Put the figures of experiments into characterization.json, and keep what they are of."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiments", nargs="+", choices=list(EXPERIMENTS), metavar="EXPERIMENT")
    known: Any = load("characterization") or {"experiments": {}}
    found = dict(known["experiments"])
    for name in parser.parse_args().experiments:
        place = Path("results/characterize", EXPERIMENTS[name], _MACHINE, "runs.parquet")
        took = Path("results/benchmarks/characterize", EXPERIMENTS[name], f"{_MACHINE}.tsv")
        runs = read_table(place, CHARACTERIZATION_RUNS)
        last_s = float(pd.read_csv(took, sep="\t")["s"].iloc[0])  # since it went on, if it did
        found[name] = figures_of(name, runs) | {"took_s": max(last_s, took_in_all_s(runs))}
        _keep(name, place)
    save("characterization", {"experiments": found})


def took_in_all_s(runs: pd.DataFrame) -> float:
    """Return the time from run to run, without the pauses between one go and the next."""
    steps_s = pd.to_datetime(runs["started"]).sort_values().diff().dt.total_seconds()
    return float(steps_s[steps_s <= _LONGEST_STEP_S].sum())


def figures_of(name: str, runs: pd.DataFrame) -> dict[str, Any]:
    """Return what ran, and what the experiment's report says of it."""
    said = read_json(Path("results/evaluate", name, "metrics.json"))["characterization"]
    complete = runs[runs["complete"].astype(bool)]
    return {
        "repeats": int(runs["repeat"].max()) + 1,
        **{key: sorted(complete[column].unique()) for key, column in _NAMED.items()},
        **{key: said[key] for key in ("runs", "failed", "own_pct", "impacts")},
        "joint": said.get("joint", {"better_or_equal": 0, "shown": 0, "verdicts": {}}),
    }


def _keep(name: str, runs: Path) -> None:
    """Copy the runs, and the figures and tables of the report about them."""
    _KEPT.mkdir(exist_ok=True)
    shutil.copy(runs, _KEPT / f"{EXPERIMENTS[name]}.parquet")
    for kind in ("figures", "tables"):
        place = _KEPT / EXPERIMENTS[name] / kind
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(Path("results/evaluate", name, kind), place)


if __name__ == "__main__":
    main()
