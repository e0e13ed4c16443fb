"""The stage `tune`: a search for each seed, its trials as a table, and the best as YAML."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.errors import UserError, escape_control_characters
from trimtab.files import remove_tree
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.deployment.outputs import write_best, write_inference, write_measured
from trimtab.tuning.inference.of_workload import inference_cpus, server_of
from trimtab.tuning.inference.plan import InferencePlan
from trimtab.tuning.inference.server import InferenceServer
from trimtab.tuning.journal import SearchJournal
from trimtab.tuning.narrowed import with_defaults, within_cores, within_gpus
from trimtab.tuning.plan import Plan, RungResult, WorkerNumber
from trimtab.tuning.request import Request
from trimtab.tuning.results import OLD_ROWS, rows_of
from trimtab.tuning.scoring.best import (
    Row,
    best_of,
    format_choice,
    front_in,
    marked,
    values_of,
)
from trimtab.tuning.scoring.score import scores_of
from trimtab.tuning.search.search import Search
from trimtab.tuning.search.side_task import NoSideTask, SideTask
from trimtab.tuning.sharing.claims import check_shared
from trimtab.tuning.sharing.postgresql import PostgresJournal, name_in
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study
from trimtab.tuning.system.known_before import Known, beginning_with, remove_but
from trimtab.tuning.tuners.base import Tuner

__all__ = ["FIRST_FOLD", "OnResult", "Request", "found_in", "search_beside", "tune"]

# Seed, fold, and the result of a trial on a rung.
OnResult = Callable[[int, int, RungResult], None]
_BY_ACCURACY = Objective("accuracy")
_STUDY = "trials"  # in the journal of a search
FIRST_FOLD = "first"  # folder of the first of two folds, in that of the second


def tune(
    request: Request,
    seeds: list[int],
    folder: Path,
    ground_truth: Path,
    on_result: OnResult = lambda seed, fold, result: None,
    database: str | None = None,
) -> None:
    """Search once for each seed and write `trials.parquet` and `best.yaml` in `folder`.

    To tune inference as well, it also writes `inference.yaml`, and `inference.parquet` with all
    measurements. Later searches read them from `known_inference.json`, beside the ground truth.
    Every seed begins with both files' content before the first seed.

    The journals are in PostgreSQL where `database` is its address, else beside the trials. Each
    search resumes where earlier processes, or other machines, ended. Raises UserError for a
    workload that cannot be tuned so, and TrimtabError where no trial has a score.
    """
    machine = WorkerNumber(database=database)
    rows, judged = list[Row](), list[Row]()  # all rows, and those that the objective judged
    searches, known = request.searches(folder), Known(ground_truth)
    made = request.made(ground_truth)  # errors, as of a damaged file, name this file
    objective = request.judged_by(made)
    remove_but(searches, known)  # searches of earlier requests
    for seed in seeds:
        first, found = search_beside(request, seed, machine, folder, ground_truth, on_result)
        judged += [_after(first, row) for row in found] if first else found
        rows += [*first, *found]
    write_table(folder / "trials.parquet", TRIALS, pd.DataFrame(rows, columns=TRIALS.names))
    best = best_of(judged, objective)
    values = values_of(best, objective)
    by = f"{request.tuner.name} for {request.objective.name} on {request.hardware.name}"
    found_by = f"Found by the tuner {by}"
    if objective != request.objective:
        found_by += f", searched by {objective.score}, as it measures no inference"
    if objective.others:
        found_by += f", {format_choice(values, len(front_in(judged)), objective)}"
    if request.without_impact and request.tuning.characterized is not None:
        evidence = escape_control_characters(request.tuning.characterized.runs)
        found_by += f", with what has no impact by {evidence} at its default: "
        found_by += ", ".join(request.without_impact)
    if made.inference is not None and request.inference_workload is not None:
        complete = request.tuning.completed(json.loads(best["configuration"]))
        own = Known.of(searches / f"seed_{best['seed']}" / "known")
        emulating = _on_device(request, searches)
        server = _server(emulating, made.inference, own, folder / "inference", 0)
        write_inference(
            folder / "inference.yaml", request.inference_workload, server.outcome(complete),
            found_by, is_described=request.is_described,
        )  # fmt: skip
        measured = emulating.known_inference(known.inference).every()
        write_measured(folder / "inference.parquet", measured)
    else:  # files of an earlier tuner
        for name in ("inference.yaml", "inference.parquet"):
            (folder / name).unlink(missing_ok=True)
    score = {"scores": values} if objective.others else {"score": values[objective.score]}
    write_best(
        folder / "best.yaml", request.workload, request.tuning, best, score, found_by,
        is_described=request.is_described,
    )  # fmt: skip


def search_beside(
    request: Request,
    seed: int,
    machine: WorkerNumber,
    folder: Path,
    ground_truth: Path,
    on_result: OnResult = lambda seed, fold, result: None,
) -> tuple[list[Row], list[Row]]:
    """Search for a seed as one of several machines, until none has anything left to train.

    All machines share the `folder` and that of the ground truth. Returns the rows of all: of the
    tuner's first search, if it has one, and of its search. `tune` writes the files. Raises as
    `tune`, and UserError where machines would not see each other's locks.
    """
    if machine.count > 1 and machine.database is None:
        check_shared(folder)
    searches, known = request.searches(folder), Known(ground_truth)
    request = _on_device(request, searches)
    before = Known(request.begins_with(ground_truth)).copied(searches / "known")
    here = searches / f"seed_{seed}"
    with beginning_with(known, before, here / "known", machine.suffix) as own:
        made = request.made(own.ground_truth, before.ground_truth)
        search = partial(_searched, request, seed, machine, own, on_result)
        tuning, first, began_s, fold = request.tuning, list[Row](), 0.0, 1
        if made.first is not None:
            first = search(fold, made.first, _BY_ACCURACY, tuning, here / FIRST_FOLD, began_s)
            fold += 1
            best = best_of(first, _BY_ACCURACY)
            tuning = with_defaults(tuning, json.loads(best["configuration"]))
            began_s = max(row["ended_s"] for row in first)
        return first, search(fold, made, request.judged_by(made), tuning, here, began_s)


def _on_device(request: Request, searches: Path) -> Request:
    """Return the request with this host's measurements, where it emulates a device."""
    if request.device is None:
        return request
    cpus = sorted(os.sched_getaffinity(0))
    its = cpus[-inference_cpus(len(cpus), request.tuning) :]
    return replace(request, device=request.device.with_host_measured(searches / "host.json", its))


def _searched(
    request: Request,
    seed: int,
    machine: WorkerNumber,
    known: Known,
    on_result: OnResult,
    fold: int,
    made: Tuner,
    objective: Objective,
    tuning: Tuning,
    here: Path,
    began_s: float,
) -> list[Row]:
    """Search in the folder `here`, `began_s` after the first search, and return the rows."""
    cpus = sorted(os.sched_getaffinity(0))
    companion: SideTask = NoSideTask()
    with ExitStack() as stack:
        its = inference_cpus(len(cpus), request.tuning) if made.inference is not None else 0
        # A trial with more cores would wait until nothing is measured.
        tuning = within_cores(tuning, Kind.SYSTEM, max(1, len(cpus) - its))
        tuning = within_gpus(tuning, len(request.gpus))
        if made.inference is not None:
            beside = here / f"inference{machine.suffix}"
            server = _server(request, made.inference, known, beside, seed)
            companion = stack.enter_context(server)
        score, *others = scores_of(objective)
        plan = Plan(
            workload=request.workload,
            tuning=tuning,
            brackets=made.brackets,
            reduction=made.reduction,
            synchronous=made.synchronous,
            fidelity=made.fidelity,
            score=score,
            others=others,
            hardware=request.hardware,
            cpus=cpus,
            workers=request.workers,
            companion_cpus=its,
            machine=machine,
            limits=request.limits,
        )
        here.mkdir(parents=True, exist_ok=True)
        space = SearchSpace(tuning)
        shared = None
        if machine.database is not None:
            shared = stack.enter_context(closing(PostgresJournal(machine.database, name_in(here))))
        place = shared or here / "journal"
        study = Study(
            place, _STUDY, space, made.searched, made.algorithm, seed, request.start_with,
            scores=[one.label for one in (score, *others)],
            earlier=request.earlier(made, objective, space, fold),
        )  # fmt: skip
        with study.lock():  # other machines may use it
            if not study.trials():
                _remove_trials(here)
        Search(
            plan,
            study,
            made.steerer,
            here / "trials",
            companion=companion,
            began_s=max((row["ended_s"] for row in rows_of(study, here)), default=began_s),
            on_ended=partial(on_result, seed, fold),
            locks=shared,
        ).run()
        found = [{"seed": seed, "fold": fold, **row} for row in rows_of(study, here)]
        return marked(found, objective)


def found_in(here: Path) -> list[Row]:
    """Return the present rows of a search in the folder `here`, with a journal file."""
    place = here / "journal"
    return rows_of(SearchJournal(place, _STUDY), here) if place.exists() else []


def _remove_trials(here: Path) -> None:
    """Remove files of an earlier journal's trials; a new journal reuses their numbers."""
    for path in here.glob(OLD_ROWS):
        path.unlink()
    for path in (here / "trials").glob("clock*.json"):
        path.unlink(missing_ok=True)
    for path in (here / "trials").glob("trial_*"):
        if path.is_dir():  # locks stay: another machine may be opening them
            remove_tree(path)


def _server(
    request: Request, plan: InferencePlan, known: Known, folder: Path, seed: int
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
        known=request.known_inference(known.inference),
        folder=folder,
        seed=seed,
        device=request.device,
    )


def _after(first: list[Row], row: Row) -> Row:
    """Return a row of a second search, with the first one's result in its configuration."""
    best = best_of(first, _BY_ACCURACY)
    complete = json.loads(best["configuration"]) | json.loads(row["configuration"])
    return {**row, "configuration": json.dumps(complete, sort_keys=True)}
