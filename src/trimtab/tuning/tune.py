"""The stage `tune`: a search for each seed, its trials as a table, and the best as YAML."""

import hashlib
import json
import math
import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.files import remove_tree
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.records.tables import TRIALS, write_table
from trimtab.tuning.companion import Alone, Companion
from trimtab.tuning.inference.of_workload import server_of, shares
from trimtab.tuning.inference.plan import InferencePlan
from trimtab.tuning.inference.server import InferenceServer
from trimtab.tuning.narrowed import with_defaults, within_cores
from trimtab.tuning.outputs import Row, best_of, write_best, write_inference
from trimtab.tuning.plan import Machine, Plan, RungResult
from trimtab.tuning.program_digest import digest_of
from trimtab.tuning.score import Failure, Score
from trimtab.tuning.search import Search
from trimtab.tuning.sharing.claims import check_shared
from trimtab.tuning.sharing.postgresql import PostgresJournal, name_in
from trimtab.tuning.space import Space
from trimtab.tuning.study import Study
from trimtab.tuning.tuners.base import Facts, Tuner
from trimtab.tuning.tuners.registry import build_tuner

OnResult = Callable[[int, RungResult], None]  # the seed, and what a trial came to on a rung


@dataclass(frozen=True)
class Request:
    """What is to be tuned, by which tuner, for which objective, on which machine.

    Trials that name no cores have a share of the CPUs of this process each, for `workers` of them.
    `inference_workload` is the one that the workload's `tuning` names, if it does; `is_described`:
    the workload has a file in `conf/workload/`.
    """

    workload: Workload
    tuner: TunerConfig
    objective: Objective
    hardware: HardwareModel
    workers: int = 1
    inference_workload: Workload | None = None
    is_described: bool = True

    @property
    def tuning(self) -> Tuning:
        """What the workload says of its tuning; raises UserError where it says nothing."""
        if self.workload.tuning is None:
            raise UserError(
                f"workload {self.workload.name}: no key `tuning`, which names its parameters"
            )
        return self.workload.tuning

    def searches(self, folder: Path) -> Path:
        """Return where in the `folder` of the results its searches are, `seed_1` and so on.

        A program that was changed is searched anew.
        """
        workloads = [one for one in (self.workload, self.inference_workload) if one is not None]
        said = [repr(self), *map(digest_of, workloads)]
        return folder / "searches" / hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]

    def made(self, ground_truth: Path) -> Tuner:
        """Return the tuner; raises UserError as its kind does."""
        facts = Facts(
            tuning=self.tuning,
            cpus=len(os.sched_getaffinity(0)),
            machine=self.hardware.name,
            least=self.objective.least,
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
    database: str | None = None,
) -> None:
    """Search once for each seed and write `trials.parquet` and `best.yaml` in `folder`.

    Where inference is tuned beside, `inference.yaml` too; what was measured for it is kept in
    `known_inference.json` beside the ground truth, which later searches read.

    The journals are in PostgreSQL where `database` is its address, else beside the trials. Each
    search goes on where earlier processes, or other machines, ended. Raises UserError for a
    workload that cannot be tuned so, and TrimtabError where no trial has a score.
    """
    machine, rows = Machine(database=database), list[Row]()
    judged: list[Row] = []  # by the objective
    searches = request.searches(folder)
    if searches.parent.is_dir():
        for other in searches.parent.iterdir():  # of an earlier request
            if other != searches:
                remove_tree(other)
    for seed in seeds:
        first, found = search_beside(request, seed, machine, folder, ground_truth, on_result)
        judged += [_after(first, row) for row in found] if first else found
        rows += [*first, *found]
    write_table(folder / "trials.parquet", TRIALS, pd.DataFrame(rows, columns=TRIALS.names))
    best, made = best_of(judged), request.made(ground_truth)
    how = f"{request.tuner.name} for {request.objective.name} on {request.hardware.name}"
    found_by = f"Found by the tuner {how}"
    if made.inference is not None and request.inference_workload is not None:
        complete = request.tuning.completed(json.loads(best["configuration"]))
        outcome = _server(request, made.inference, ground_truth, folder / "inference", 0).outcome(
            complete
        )
        write_inference(folder / "inference.yaml", request.inference_workload, outcome, found_by)
    write_best(
        folder / "best.yaml", request.workload, request.tuning, best, found_by,
        is_described=request.is_described,
    )  # fmt: skip


def search_beside(
    request: Request,
    seed: int,
    machine: Machine,
    folder: Path,
    ground_truth: Path,
    on_result: OnResult = lambda seed, result: None,
) -> tuple[list[Row], list[Row]]:
    """Search for a seed as one of several machines, until none has anything left to train.

    All of them see the `folder` and that of the ground truth. Returns what all have found: in the
    tuner's first search, if it has one, and in its search. `tune` writes the files. Raises as that
    does, and UserError where machines would not see each other's locks.
    """
    if machine.count > 1 and machine.database is None:
        check_shared(folder)
    made, here = request.made(ground_truth), request.searches(folder) / f"seed_{seed}"
    search = partial(_searched, request, seed, machine, ground_truth, partial(on_result, seed))
    tuning, first, began_s = request.tuning, list[Row](), 0.0
    if made.first is not None:
        first = search(made.first, Objective("accuracy"), tuning, here / "first", began_s)
        began_s = max(row["ended_s"] for row in first)
        tuning = with_defaults(tuning, json.loads(best_of(first)["configuration"]))
    return first, search(made, request.objective, tuning, here, began_s)


def _searched(
    request: Request,
    seed: int,
    machine: Machine,
    ground_truth: Path,
    on_result: Callable[[RungResult], None],
    made: Tuner,
    objective: Objective,
    tuning: Tuning,
    here: Path,
    began_s: float,
) -> list[Row]:
    """Search in the folder `here`, `began_s` after the first search, and return what came of it."""
    cpus = sorted(os.sched_getaffinity(0))
    companion: Companion = Alone()
    with ExitStack() as stack:
        if made.inference is not None:
            _, cpus = shares(cpus, request.tuning)
        tuning = within_cores(tuning, Kind.SYSTEM, len(cpus))
        if made.inference is not None:
            beside = here / f"inference{machine.suffix}"
            server = _server(request, made.inference, ground_truth, beside, seed)
            companion = stack.enter_context(server)
        plan = Plan(
            workload=request.workload,
            tuning=tuning,
            brackets=made.brackets,
            reduction=made.reduction,
            synchronous=made.synchronous,
            fidelity=made.fidelity,
            score=Score(objective),
            hardware=request.hardware,
            cpus=cpus,
            workers=request.workers,
            machine=machine,
        )
        here.mkdir(parents=True, exist_ok=True)
        space = Space(tuning)
        shared = None
        if machine.database is not None:
            shared = stack.enter_context(closing(PostgresJournal(machine.database, name_in(here))))
        place = shared or here / "journal"
        study = Study(place, "trials", space, made.searched, made.algorithm, seed)
        results = Results(here / f"results{machine.suffix}.jsonl")

        def heard(result: RungResult) -> None:
            results.add(result)
            on_result(result)

        began_s = max((row["ended_s"] for row in results.rows()), default=began_s)
        trials = here / "trials"
        Search(plan, study, made.steerer, trials, heard, companion, began_s, shared).run()
    return [{"seed": seed, **row} for row in results.rows()]


def _server(
    request: Request, plan: InferencePlan, ground_truth: Path, folder: Path, seed: int
) -> InferenceServer:
    if request.inference_workload is None:
        raise UserError(
            f"workload {request.workload.name}: tuning.inference_workload: expected a workload, as "
            f"the tuner {request.tuner.name} tunes inference"
        )
    return server_of(
        request.tuning,
        request.inference_workload,
        plan,
        request.objective,
        request.hardware,
        known=ground_truth.with_name("known_inference.json"),
        folder=folder,
        seed=seed,
    )


def _after(first: list[Row], row: Row) -> Row:
    """Return a row of a second search with what the first one has found in its configuration."""
    found = json.loads(best_of(first)["configuration"])
    complete = {**found, **json.loads(row["configuration"])}
    return {**row, "configuration": json.dumps(complete, sort_keys=True)}


class Results:
    """What trials came to, a line of JSON each: a process that goes on finds those of earlier.

    Each machine of a search has a file of its own, `results_1.jsonl` and so on.
    """

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
            "training_j": result.training_j if math.isfinite(result.training_j) else None,
            "energy_source": result.energy_source,
            "inference_s": None if failed else result.metrics.get("inference_s"),
            "inference_j": None if failed else result.metrics.get("inference_j"),
            "wall_s": result.wall_s,
            "cpu_s": result.cpu_s,
            "start_up_s": result.start_up_s,
            "began_s": result.began_s,
            "ended_s": result.ended_s,
            **result.steering,
        }
        with self._path.open("a") as file:
            # Behind half a line that a killed process left, which is none.
            file.write(f"\n{json.dumps(row)}\n")

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of all machines, in the order of their trials and rungs.

        Of one that was judged twice, as its first judge was killed, the later counts.
        """
        found: dict[tuple[int, int], dict[str, Any]] = {}
        for path in sorted(self._path.parent.glob("results*.jsonl")):
            for line in path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                key = row["trial"], row["rung"]
                if key not in found or row["ended_s"] >= found[key]["ended_s"]:
                    found[key] = row
        return [found[key] for key in sorted(found)]
