"""Trials that share the CPUs of this machine for real."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from spaces import tuning
from test_search import CPUS, HOST
from trials.trial_programs import workload

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuning import Kind
from trimtab.config.groups.workload import Workload
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import HyperBand, Rung, brackets_of
from trimtab.tuning.plan import Plan, RungResult
from trimtab.tuning.scoring.score import Score
from trimtab.tuning.search.search import Search
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study
from trimtab.tuning.system.ground_truth import GroundTruth
from trimtab.tuning.system.pool import ResourceDemand
from trimtab.tuning.system.probing import ProbingTuner, Shared
from trimtab.tuning.system.system_tuner import (
    FixedSettings,
    MeasuredEpoch,
    ResourceView,
    Settings,
    SystemTunerFactory,
)

# Every epoch writes down when it was, and on which CPUs.
PROGRAM = """
import json, os, sys, time, trimtab_trial
given = dict(word[2:].split("=") for word in sys.argv[1:])
for epoch in range(trimtab_trial.first_epoch(), int(given["epochs"])):
    began, cpus = time.monotonic(), sorted(os.sched_getaffinity(0))
    held = bytearray(int(given["megabytes"]) << 20)
    sum(range(100_000))
    with open("epochs.jsonl", "a") as file:
        file.write(json.dumps([os.getpid(), began, time.monotonic(), cpus]) + "\\n")
    trimtab_trial.epoch_end(epoch, accuracy=0.5)
"""
TUNING = tuning(
    epochs={"least": 3, "most": 3},
    training={"width": {"low": 1, "high": 9, "whole": True, "default": 1}},
)
needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="trials that run at once need 2 CPUs")


def program(folder: Path, megabytes: int) -> Workload:
    given = vars(workload(PROGRAM, workdir=str(folder)))
    flags = ["--width={width}", "--epochs={epochs}", f"--megabytes={megabytes}"]
    return Workload(**{**given, "command": [*given["command"], *flags]})


def search(
    folder: Path, steerer: SystemTunerFactory, trials: int, megabytes: int = 0, **keys: Any
) -> list[RungResult]:
    plan = Plan(
        workload=program(folder, megabytes), tuning=TUNING, brackets=[(Rung(trials, 1),)],
        reduction=2, synchronous=True, fidelity=Fidelity(BudgetKind.EPOCHS, 3, 3),
        score=Score(Objective(name="best")), hardware=HOST, **{"cpus": CPUS[:2], **keys},
    )  # fmt: skip
    study = Study(folder / "journal", "s", SearchSpace(TUNING), [Kind.TRAINING], "random", seed=1)
    results: list[RungResult] = []
    Search(plan, study, steerer, folder / "trials", results.append).run()
    return results


def epochs(folder: Path) -> list[tuple[int, float, float, Sequence[int]]]:
    return [json.loads(line) for line in (folder / "epochs.jsonl").read_text().splitlines()]


def check_no_cpu_was_shared(folder: Path) -> None:
    every = epochs(folder)
    for pid, began, ended, cpus in every:
        for other, other_began, other_ended, others in every:
            if pid != other and began < other_ended and other_began < ended:
                assert set(cpus).isdisjoint(others)


@needs_two
def test_trials_of_one_core_run_at_once_each_on_its_own(tmp_path: Path) -> None:
    results = search(tmp_path, lambda _: FixedSettings({"cores": 1}), trials=3)
    first, second, third = sorted(results, key=lambda one: one.began_s)
    assert second.began_s < first.ended_s  # both were started before either was waited for
    assert third.began_s >= min(first.ended_s, second.ended_s)
    assert {len(cpus) for *_, cpus in epochs(tmp_path)} == {1}
    check_no_cpu_was_shared(tmp_path)
    for one in results:
        assert one.began_s < one.ended_s and one.cpu_s > 0 and one.energy_source == "modelled"


@needs_two
@pytest.mark.parametrize(("settings", "keys"), [({"cores": 2}, {}), ({}, {}), (
    {"cores": 1, "memory_gib": 3}, {"memory_gib": 5.0})])  # fmt: skip
def test_trials_wait_for_what_they_need(
    tmp_path: Path, settings: Settings, keys: dict[str, float]
) -> None:
    first, second = search(tmp_path, lambda _: FixedSettings(settings), trials=2, **keys)
    assert second.began_s >= first.ended_s


@needs_two
def test_a_share_each_where_trials_name_no_cores(tmp_path: Path) -> None:
    first, second = search(tmp_path, lambda _: FixedSettings({}), trials=2, workers=2)
    assert max(first.began_s, second.began_s) < min(first.ended_s, second.ended_s)
    assert {len(cpus) for *_, cpus in epochs(tmp_path)} == {1}


class Greedy:
    """Wants all that it may have, and one core at first."""

    seen: ClassVar[list[ResourceView]] = []

    def __init__(self) -> None:
        self.report = {"epochs_probed": 0, "known": 0}

    def settings_for(self, outlook: ResourceView) -> Settings:
        self.seen.append(outlook)
        return {"cores": 1 if outlook.starts else outlook.room.cores}

    def best(self, machine: ResourceDemand) -> Settings:
        return {"cores": machine.cores}

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        assert epoch.energy_j is not None and epoch.energy_j > 0 and epoch.wall_s >= 0

    def ran_out_of_memory(self) -> bool:
        return False

    def ended(self) -> None:
        pass


@needs_two
def test_a_trial_grows_into_what_is_free_only(tmp_path: Path) -> None:
    Greedy.seen = []
    search(tmp_path, lambda _: Greedy(), trials=3)
    check_no_cpu_was_shared(tmp_path)
    # The last one most often: the others are done before it is.
    grew = any(one.room.cores == 2 for one in Greedy.seen if not one.starts)
    assert max(len(cpus) for *_, cpus in epochs(tmp_path)) == 1 + grew
    starts = [outlook for outlook in Greedy.seen if outlook.starts]
    assert starts[0].waiting == 3 and starts[0].room.cores == 2
    assert all(one.machine.cores == 2 and 1 <= one.waiting <= 3 for one in Greedy.seen)


def test_a_probe_that_leaves_too_little_memory_is_no_failure(tmp_path: Path) -> None:
    shared = Shared(GroundTruth([], "host"))
    candidates: list[Settings] = [{"memory_gib": 2.0}, {"memory_gib": 0.25}]
    [result] = search(tmp_path, lambda _: ProbingTuner(candidates, shared), 1, megabytes=400)
    assert result.result == 0.5 and result.settings == {"memory_gib": 2.0}
    assert result.steering["epochs_probed"] == 1
    assert len(epochs(tmp_path)) == 3  # the epoch that was killed was trained again


class Hungry:
    """Wants too little memory, and then all that the machine has."""

    def __init__(self) -> None:
        self.report = {"epochs_probed": 0, "known": 0}
        self.memory_gib, self.programs = 0.25, 0

    def settings_for(self, outlook: ResourceView) -> Settings:
        return {"cores": 1, "memory_gib": self.memory_gib}

    def best(self, machine: ResourceDemand) -> Settings:
        return {"memory_gib": self.memory_gib}

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        assert epoch.wall_s >= 0

    def ran_out_of_memory(self) -> bool:
        self.memory_gib = 1.0
        return True

    def ended(self) -> None:
        self.programs += 1


@needs_two
def test_one_that_needs_more_memory_than_is_free_goes_on_later(tmp_path: Path) -> None:
    made = list[Hungry]()

    def steerer(_: object) -> Hungry:
        made.append(Hungry())
        return made[-1]

    results = search(tmp_path, steerer, trials=3, megabytes=400, memory_gib=1.0)
    assert [one.programs for one in made] == [2] * 3  # the first one ran out of memory
    assert [one.result for one in results] == [0.5] * 3
    assert {one.settings["memory_gib"] for one in results} == {1.0}
    assert len(epochs(tmp_path)) == 3 * 3


def test_how_many_could_run(tmp_path: Path) -> None:
    scheduler = HyperBand(brackets_of(4, 2), 2)
    assert scheduler.waiting == 4 + 3 + 3  # the first rungs of all brackets
    for trial in range(4):
        job = scheduler.next_job()
        assert job is not None
        scheduler.start(job, trial)
    assert scheduler.waiting == 6
    for trial in range(4):
        scheduler.report(trial, float(trial))
    assert scheduler.waiting == 2 + 6  # the better half goes on
