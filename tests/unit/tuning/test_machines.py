"""Machines that share a search: real jobs of the rule, of which one is killed in the middle."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_search import TUNING
from trials.trial_programs import workload

from trimtab.config import dump, stages
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Workload
from trimtab.files import read_json
from trimtab.places import PROJECT
from trimtab.processes.ending import living
from trimtab.profiling.profile import model_of
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.journal import SearchJournal
from trimtab.tuning.results import rows_of
from trimtab.tuning.trials.running import kill_left_over
from trimtab.tuning.tune import Request, tune

LIMIT_S = 60
# The accuracy is what was configured; every epoch is written down. Two processes of one trial are
# a failure. The first trial to come to its second epoch tells its tuner's number, and waits there.
PROGRAM = """
import fcntl, os, sys, trimtab_trial
given = dict(word[2:].split("=") for word in sys.argv[1:])
width, epochs = int(given["width"]), int(given["epochs"])
alone = open(f"{trimtab_trial.folder()}/../alone", "a")
fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
for epoch in range(trimtab_trial.first_epoch(), epochs):
    if epoch == 1:
        try:
            os.mkdir("first")
        except FileExistsError:
            pass
        else:
            with open("tuner", "w") as pipe:
                pipe.write(f"{os.getppid()} ")
            open("never").read()
    with open("epochs.txt", "a") as file:
        file.write(f"{width} {epoch}\\n")
    open(f"{trimtab_trial.folder()}/{epoch + 1}", "w").close()
    trimtab_trial.epoch_end(epoch, accuracy=width / 100)
"""
HOST = Hardware("host", 2, 1.0, 5.0, 0.1, 8.0, "a test")
SAID = ("trial", "rung", "epochs", "configuration", "score", "failure")


def tuned(folder: Path) -> Workload:
    folder.mkdir()
    os.mkfifo(folder / "tuner")
    os.mkfifo(folder / "never")
    given = workload(PROGRAM, workdir=str(folder))
    command = [*given.command, "--width={width}", "--epochs={epochs}"]
    return Workload(**{**vars(given), "command": command, "tuning": TUNING})


def stage_of(of: Workload, machines: int) -> stages.TuneStage:
    return stages.TuneStage(
        workload=of, hardware=HOST, objective=Objective("accuracy"), seeds=1, workers=1,
        tuner=TunerConfig("v1", "hyperband", parameters={"reduction": 2}), machines=machines,
    )  # fmt: skip


def request(stage: stages.TuneStage) -> Request:
    hardware = model_of(stage.hardware)
    return Request(stage.workload, stage.tuner, stage.objective, hardware, stage.workers)


def started(stage: stages.TuneStage, results: Path, machine: int) -> subprocess.Popen[str]:
    output = results / "machines" / f"seed_1_{machine}.json"
    results.mkdir(parents=True, exist_ok=True)
    configuration = results / f"stage_{machine}.json"
    configuration.write_text(dump(stage))
    command = ["--seed", "1", "--machine", str(machine), "--output", str(output)]
    return subprocess.Popen(
        [
            *(sys.executable, PROJECT / "scripts/tune_on_machine.py"),
            *("--config", configuration, *command),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )


def told(pipe: int) -> str:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    assert poll.poll(LIMIT_S * 1000), "no trial came to its second epoch"
    return os.read(pipe, 100).decode()


def rows(path: Path) -> list[dict[str, Any]]:
    table = read_table(path / "trials.parquet", TRIALS)
    return (
        table[list(SAID)].astype(object).where(table[list(SAID)].notna(), None).to_dict("records")
    )


def trained_again(*_: object) -> None:
    pytest.fail("trained again")


def test_one_of_two_is_killed_and_the_other_ends_the_search(tmp_path: Path) -> None:
    (whole := tuned(tmp_path / "whole")), (tmp_path / "whole/first").mkdir()
    tune(request(stage_of(whole, 1)), [1], tmp_path / "alone/a/b/c", tmp_path / "truth")

    results = tmp_path / "results/v1/w/h/o"
    shared = stage_of(tuned(tmp_path / "shared"), 2)
    pipe = os.open(tmp_path / "shared/tuner", os.O_RDWR)
    jobs = [started(shared, results, machine) for machine in (1, 2)]
    os.kill(int(told(pipe)), signal.SIGKILL)
    said = [job.communicate(timeout=LIMIT_S)[1] for job in jobs]
    os.close(pipe)
    assert [job.returncode == 0 for job in jobs].count(True) == 1, said
    [done] = (results / "machines").glob("*.json")

    given = request(shared)
    tune(given, [1], results, tmp_path / "truth", trained_again)
    assert rows(results) == rows(tmp_path / "alone/a/b/c")
    # No epoch twice: the trial that was killed went on from its checkpoint elsewhere.
    epochs = [sorted((tmp_path / one / "epochs.txt").open()) for one in ("whole", "shared")]
    assert epochs[0] == epochs[1]
    judges: dict[tuple[int, int], set[str]] = {}  # of a trial and the number of its scores
    journal = given.searches(results) / "seed_1/journal"
    for record in map(json.loads, journal.read_text().splitlines()):
        if scores := record.get("user_attr", {}).get("told"):
            judges.setdefault((record["trial_id"], len(scores)), set()).add(record["worker_id"])
    assert len(judges) == len(rows(results))
    assert all(len(by) == 1 for by in judges.values())  # each by one machine
    assert 0 < len(read_json(done)["trials_and_rungs"]) <= len(judges)


def test_what_a_killed_tuner_left_running_is_ended(tmp_path: Path) -> None:
    environment = {**os.environ, "TRIMTAB_TRIAL": str(tmp_path / "trial_1")}
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], env=environment, stdin=subprocess.PIPE
    ) as left:
        kill_left_over(tmp_path / "trial_2")
        assert [one.pid for one in living(f"TRIMTAB_TRIAL={tmp_path / 'trial_1'}")] == [left.pid]
        kill_left_over(tmp_path / "trial_1")
        assert left.wait(LIMIT_S) == -signal.SIGKILL


def test_old_rows_of_all_machines_and_of_a_rung_judged_twice_the_later(tmp_path: Path) -> None:
    budget = Budget(1)
    for name, judged in {
        "results_1": [(0, 0, 5.0), (1, 0, 6.0)],
        "results_2": [(0, 0, 4.0), (2, 0, 7.0)],
    }.items():
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(
                json.dumps({"trial": trial, "rung": rung, "ended_s": ended_s, **vars(budget)})
                + "\n"
                for trial, rung, ended_s in judged
            )
        )
    journal = SearchJournal(tmp_path / "journal", "trials")
    for number in range(3):
        journal.add({}, {}, {})
        if number < 2:  # the last one was not told of when its machine was killed
            journal.add_scores(number, {budget: 0.5})
    found = rows_of(journal, tmp_path)
    assert [(one["trial"], one["ended_s"]) for one in found] == [(0, 5.0), (1, 6.0)]
