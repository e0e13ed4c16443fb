"""Searches over programs that run for real: budgets, failures, kills."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from spaces import choices, tuning
from trials.trial_programs import training, workload

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import brackets_of
from trimtab.tuning.plan import Plan, RungResult
from trimtab.tuning.scoring.score import Failure, Score
from trimtab.tuning.search.search import Search
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study
from trimtab.tuning.system.system_tuner import FixedSettings

HOST = HardwareModel("host", 4, 10.0, 50.0, 0.0, 8.0, 0.1, "a test")
CPUS = sorted(os.sched_getaffinity(0))
# The accuracy is what was configured; every epoch is written down.
PROGRAM = """
import sys, trimtab_trial
given = dict(word[2:].split("=") for word in sys.argv[1:])
width, epochs = int(given["width"]), int(given["epochs"])
for epoch in range(trimtab_trial.first_epoch(), epochs):
    if width == 13:
        raise SystemExit("an unlucky width")
    with open("epochs.txt", "a") as file:
        file.write(f"{width} {epoch}\\n")
    open(f"{trimtab_trial.folder()}/{epoch + 1}", "w").close()
    trimtab_trial.epoch_end(epoch, accuracy=width / 100)
"""
TUNING = tuning(
    epochs={"least": 1, "most": 4},
    training={"width": {"low": 1, "high": 99, "whole": True, "default": 1}},
)


def program(folder: Path) -> Workload:
    given = workload(PROGRAM, workdir=str(folder))
    return type(given)(**{**vars(given), "command": [*given.command, "--width={width}",
                                                     "--epochs={epochs}"]})  # fmt: skip


def search(folder: Path, of: Workload, space: Tuning = TUNING, **keys: Any) -> list[RungResult]:
    fidelity = Fidelity(BudgetKind.EPOCHS, space.epochs.least, space.epochs.most)
    plan = Plan(
        workload=of, tuning=space, brackets=brackets_of(fidelity.levels, 2), reduction=2,
        synchronous=True, fidelity=fidelity, score=Score(Objective(name="best")), hardware=HOST,
        cpus=CPUS, **keys,
    )  # fmt: skip
    study = Study(folder / "journal", "s", SearchSpace(space), [Kind.TRAINING], "random", seed=1)
    results: list[RungResult] = []
    Search(plan, study, lambda _: FixedSettings({}), folder / "trials", results.append).run()
    return results


def epochs_of(folder: Path) -> Counter[str]:
    return Counter((folder / "epochs.txt").read_text().splitlines())


@pytest.mark.parametrize("workers", [1, 2])
def test_every_rung_is_trained_once_and_the_best_go_on(tmp_path: Path, workers: int) -> None:
    results = search(tmp_path, program(tmp_path), workers=workers)
    # 4 and 2 and 1, 3 and 1, 3 trials; none of their epochs twice.
    assert len(results) == 4 + 2 + 1 + 3 + 1 + 3
    assert Counter(one.budget.epochs for one in results) == {1: 4, 2: 5, 4: 5}
    trained: Counter[str] = Counter()
    for trial in {one.trial for one in results}:
        longest = max(one.budget.epochs for one in results if one.trial == trial)
        width = next(one.configuration["training.width"] for one in results if one.trial == trial)
        trained.update(f"{width} {epoch}" for epoch in range(longest))
    assert epochs_of(tmp_path) == trained
    first = [one for one in results if one.job.bracket == 0]
    best = max(one.configuration["training.width"] for one in first)
    assert [one.result for one in first if one.job.rung == 2] == [best / 100]
    for one in results:
        assert one.training_s >= 0 and one.training_j > 0


def test_a_trial_that_fails_is_told_and_the_search_goes_on(tmp_path: Path) -> None:
    space = tuning(epochs={"least": 1, "most": 4}, training={"width": choices(13, 50)})
    results = search(tmp_path, program(tmp_path), space)
    failed = [one for one in results if isinstance(one.result, Failure)]
    assert failed and all("an unlucky width" in str(one.result) for one in failed)
    assert {one.configuration["training.width"] for one in failed} == {13}
    assert any(one.result == 0.5 and one.budget.epochs == 4 for one in results)


KILLED = """
import json, os, signal, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[1])
import test_search
folder, most = Path(sys.argv[2]), int(sys.argv[3])
from trimtab.processes.supervision import supervised
def die(result, seen=[]):
    seen.append(result)
    if len(seen) == most:
        os.kill(os.getpid(), signal.SIGKILL)
real = test_search.Search
test_search.Search = lambda *given: real(*given[:-1], die)
test_search.search(folder, test_search.program(folder))
"""


@pytest.mark.parametrize("most", [1, 6])
def test_a_search_that_is_killed_goes_on(tmp_path: Path, most: int) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    expected = search(whole, program(whole))
    command = [sys.executable, "-c", KILLED, json.dumps(sys.path), str(killed), str(most)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    rest = search(killed, program(killed))
    # That which was heard of last was told.
    assert len(rest) == len(expected) - most
    last = {(one.job.rung, one.trial): one.result for one in expected}
    assert all(last[one.job.rung, one.trial] == one.result for one in rest)
    assert epochs_of(killed) == epochs_of(whole)
    assert search(killed, program(killed)) == []


def test_a_program_that_reports_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="reported no epoch"):
        search(tmp_path, workload("pass"))
    assert [path.name for path in (tmp_path / "trials").glob("trial_?")] == ["trial_0"]


def test_paused_trials_go_on_from_their_checkpoints(tmp_path: Path) -> None:
    """The weight after all rungs is the one of an uninterrupted run."""
    space = tuning(
        epochs={"least": 1, "most": 4},
        training={"result": {"choices": ["weight.txt"], "default": "weight.txt"}},
    )
    keys = {"parameters": {"epochs": 4, "result": "weight.txt"}}
    results = search(tmp_path, training(workdir=str(tmp_path), **keys), space)
    weights = {one.budget.epochs: set[float]() for one in results}
    for one in results:
        weights[one.budget.epochs].add(one.metrics["weight"])
    assert all(len(found) == 1 for found in weights.values()) and len(weights) == 3
