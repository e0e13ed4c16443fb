"""The stage `tune`: a search for each seed, its trials as a table, and the best as YAML."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError, UserError
from trimtab.files import remove_tree, whole_file
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.records.tables import TRIALS, write_table
from trimtab.tuning.fidelity import Fidelity
from trimtab.tuning.hyperband import Bracket, work_epochs
from trimtab.tuning.score import Failure, Score
from trimtab.tuning.search import Plan, RungResult, Search
from trimtab.tuning.space import Space
from trimtab.tuning.study import Study
from trimtab.tuning.tuners.base import Facts, Tuner
from trimtab.tuning.tuners.registry import build_tuner

OnResult = Callable[[int, RungResult], None]  # the seed, and what a trial came to on a rung


@dataclass(frozen=True)
class Request:
    """What is to be tuned, by which tuner, for which objective, on which machine.

    `workers` trials run at once, each on its share of the CPUs of this process.
    """

    workload: Workload
    tuner: TunerConfig
    objective: Objective
    hardware: HardwareModel
    workers: int = 1

    @property
    def tuning(self) -> Tuning:
        """What the workload says of its tuning; raises UserError where it says nothing."""
        if self.workload.tuning is None:
            raise UserError(
                f"workload {self.workload.name}: no key `tuning`, which names its parameters"
            )
        return self.workload.tuning

    def searches(self, folder: Path) -> Path:
        """Return where in the `folder` of the results its searches are, `seed_1` and so on."""
        return folder / "searches" / hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def made(self, ground_truth: Path) -> Tuner:
        """Return the tuner; raises UserError as its kind does."""
        facts = Facts(
            tuning=self.tuning,
            cpus=max(1, len(os.sched_getaffinity(0)) // self.workers),
            machine=self.hardware.name,
            objective=self.objective.name,
            ground_truth=ground_truth,
        )
        try:
            return build_tuner(self.tuner.kind, self.tuner.parameters, facts)
        except ValueError as error:
            raise UserError(f"tuner {self.tuner.name}: parameters: {error}") from None


def tune(
    request: Request,
    seeds: list[int],
    folder: Path,
    ground_truth: Path,
    on_result: OnResult = lambda seed, result: None,
) -> None:
    """Search once for each seed and write `trials.parquet` and `best.yaml` in `folder`.

    Each search goes on where an earlier process ended. Raises UserError for a workload that cannot
    be tuned so, and TrimtabError where no trial has a score.
    """
    score = Score(request.objective)
    rows: list[dict[str, Any]] = []
    searches = request.searches(folder)
    if searches.parent.is_dir():
        for other in searches.parent.iterdir():  # of an earlier request
            if other != searches:
                remove_tree(other)
    for seed in seeds:
        made = request.made(ground_truth)
        plan = Plan(
            workload=request.workload,
            tuning=request.tuning,
            brackets=made.brackets,
            reduction=made.reduction,
            synchronous=made.synchronous,
            fidelity=made.fidelity,
            score=score,
            hardware=request.hardware,
            cpus=sorted(os.sched_getaffinity(0)),
            workers=request.workers,
        )
        here = searches / f"seed_{seed}"
        here.mkdir(parents=True, exist_ok=True)
        study = Study(
            here / "journal", "trials", Space(request.tuning), made.searched, made.algorithm, seed
        )
        results = Results(here / "results.jsonl")

        def heard(result: RungResult, seed: int = seed, results: "Results" = results) -> None:
            results.add(result)
            on_result(seed, result)

        Search(plan, study, made.steerer, here / "trials", heard).run()
        rows += [{"seed": seed, **row} for row in results.rows()]
    write_table(folder / "trials.parquet", TRIALS, pd.DataFrame(rows, columns=TRIALS.names))
    _write_best(folder / "best.yaml", request, rows)


class Results:
    """What trials came to, a line of JSON each: a process that goes on finds those of earlier."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, result: RungResult) -> None:
        """Append a result; half a line that a killed process left is no result."""
        failed = isinstance(result.result, Failure)
        row = {
            "trial": result.trial,
            "bracket": result.job.bracket,
            "rung": result.job.rung,
            "epochs": result.budget.epochs,
            "data_fraction": result.budget.data_fraction,
            "configuration": json.dumps(result.configuration, sort_keys=True),
            "settings": json.dumps(dict(result.settings), sort_keys=True),
            "score": None if isinstance(result.result, Failure) else result.result,
            "failure": result.result.reason if isinstance(result.result, Failure) else "",
            "accuracy": None if failed else result.metrics.get("accuracy"),
            "training_s": result.training_s,
            "training_j": result.training_j,
            "wall_s": result.wall_s,
            "start_up_s": result.start_up_s,
        }
        with self._path.open("a") as file:
            file.write(f"{json.dumps(row)}\n")

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows, in the order of their trials and rungs."""
        found = {}
        for line in self._path.read_text().splitlines() if self._path.exists() else []:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            found[row["trial"], row["rung"]] = row
        return [found[key] for key in sorted(found)]


def plan_in_words(brackets: list[Bracket], fidelity: Fidelity) -> list[str]:
    """Return what a search will do, a line a bracket, and what it costs."""
    lines = []
    for number, bracket in enumerate(brackets):
        rungs = [
            f"{rung.trials} to {fidelity.at(rung.level).epochs} epochs"
            + (
                f" on {fidelity.at(rung.level).data_fraction:.0%}"
                if fidelity.at(rung.level).data_fraction < 1
                else ""
            )
            for rung in bracket
        ]
        lines.append(f"bracket {number + 1}: {', '.join(rungs)}")
    lines.append(f"in all as much as {work_epochs(brackets, fidelity):g} epochs over all data")
    return lines


def _write_best(path: Path, request: Request, rows: list[dict[str, Any]]) -> None:
    """Write the best configuration as keys of a workload, and what it came to."""
    good = [row for row in rows if row["score"] is not None]
    if not good:
        failures = {row["failure"] for row in rows}
        raise TrimtabError(f"no trial has a score: {'; '.join(sorted(failures)[:3])}")
    most = max((row["epochs"], row["data_fraction"]) for row in good)
    best = max(
        (row for row in good if (row["epochs"], row["data_fraction"]) == most),
        key=lambda row: (row["score"], -row["seed"], -row["trial"]),
    )
    complete = request.tuning.completed(json.loads(best["configuration"]))
    parameters = {
        name.partition(".")[2]: value
        for name, value in complete.items()
        if name.partition(".")[0] in (Kind.MODEL, Kind.TRAINING)
    }
    document = {
        "workload": {"parameters": {**parameters, "epochs": best["epochs"]}},
        "system": json.loads(best["settings"]),
        "score": best["score"],
        "accuracy": best["accuracy"],
        "training_s": best["training_s"],
        "training_j": best["training_j"],
    }
    with whole_file(path) as temporary:
        temporary.write_text(yaml.safe_dump(document, sort_keys=False))
