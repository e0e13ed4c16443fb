"""What a search waits for, and what it counts: over programs that run for real."""

import json
import os
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from spaces import choices, tuning
from test_search import CPUS, HOST
from trials.trial_programs import marks, workload

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.execution.sprinting.frequencies import HighestFrequencies
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import Rung, brackets_of
from trimtab.tuning.plan import Plan, RungResult
from trimtab.tuning.scoring.score import Failure, Score
from trimtab.tuning.search.clock import SearchClock
from trimtab.tuning.search.search import Search
from trimtab.tuning.search.side_task import NoSideTask
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study
from trimtab.tuning.system.pool import ResourceDemand
from trimtab.tuning.system.system_tuner import FixedSettings, MeasuredEpoch, ResourceView, Settings

WIDTHS = tuning(
    epochs={"least": 1, "most": 4},
    training={"width": {"low": 1, "high": 99, "whole": True, "default": 1}},
)
HEAD = """
import os, sys, time, trimtab_trial
given = dict(word[2:].split("=") for word in sys.argv[1:])
width, epochs = int(given["width"]), int(given["epochs"])
def save(epoch): open(f"{trimtab_trial.folder()}/{epoch + 1}", "w").close()
def work():
    began = time.process_time()
    while time.process_time() < began + 0.2:
        pass
def until(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
"""
needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU only")


class Asked:
    """Settings one after the other, a list for each trial; out of memory it is to go on."""

    def __init__(self, *settings: Settings) -> None:
        self.settings, self.given = list(settings), 0
        self.epochs: list[MeasuredEpoch] = []
        self.report = {"epochs_probed": 0, "known": 0}

    def settings_for(self, outlook: ResourceView) -> Settings:
        self.given += 1
        return self.settings[min(self.given, len(self.settings)) - 1]

    def best(self, machine: ResourceDemand) -> Settings:
        return self.settings[-1]

    def epoch_ended(self, epoch: MeasuredEpoch) -> None:
        self.epochs.append(epoch)

    def ran_out_of_memory(self) -> bool:
        return True

    def ended(self) -> None:
        pass


def search(
    folder: Path, code: str, rungs: list[Rung], *, space: Tuning = WIDTHS, steering: Any = None,
    algorithm: str = "random", hardware: HardwareModel = HOST, program: Mapping[str, Any] = {},
    companion: Any = None, **keys: Any,
) -> tuple[list[RungResult], list[RungResult]]:  # fmt: skip
    """Return what was judged, and what it came to when its program had ended, each in order."""
    of = workload(HEAD + code if "TAIL" not in code else code, workdir=str(folder), **program)
    of = type(of)(**{**vars(of), "command": [*of.command, "--width={width}", "--epochs={epochs}"]})
    fidelity = Fidelity(BudgetKind.EPOCHS, space.epochs.least, space.epochs.most)
    plan = Plan(
        workload=of, tuning=space, brackets=[tuple(rungs)], reduction=2, synchronous=True,
        fidelity=fidelity, score=Score(Objective(name="best")), hardware=hardware,
        **{"cpus": CPUS[:1], **keys},
    )  # fmt: skip
    study = Study(folder / "journal", "s", SearchSpace(space), [Kind.TRAINING], algorithm, seed=1)
    judged: list[RungResult] = []
    ended: list[RungResult] = []
    steer = steering or FixedSettings({})
    Search(
        plan, study, lambda _: steer, folder / "trials", judged.append, companion or NoSideTask(),
        on_ended=ended.append,
    ).run()  # fmt: skip
    return judged, ended


def test_nobody_waits_for_a_program_on_its_way_out(tmp_path: Path) -> None:
    """The first ends when the second has begun, which has its CPU; all of both is counted."""
    code = """
is_second = os.path.exists("first")
open("second" if is_second else "first", "w").close()
try:
    for epoch in range(epochs):
        save(epoch)
        trimtab_trial.epoch_end(epoch, accuracy=0.5)
finally:
    if not is_second:
        until(lambda: os.path.exists("second"))
        work()
"""
    judged, ended = search(tmp_path, code, [Rung(2, 1)])
    assert [one.trial for one in judged] == [0, 1]
    assert {one.trial for one in ended} == {0, 1}
    assert all(one.result == 0.5 for one in judged)
    assert judged[1].began_s < judged[0].began_s + 9  # nobody was killed for being late
    first = next(one for one in ended if one.trial == 0)
    assert first.cpu_s >= judged[0].cpu_s + 0.15 and first.wall_s > judged[0].wall_s
    assert first.energy_j > judged[0].energy_j > judged[0].training_j
    assert (first.result, first.ended_s) == (judged[0].result, judged[0].ended_s)


def test_a_trial_goes_on_when_its_own_program_has_ended(tmp_path: Path) -> None:
    code = """
assert not os.path.exists("runs"), "two programs of a trial"
open("runs", "w").close()
try:
    for epoch in range(trimtab_trial.first_epoch(), epochs):
        save(epoch)
        trimtab_trial.epoch_end(epoch, accuracy=0.5)
finally:
    time.sleep(0.05)
    os.remove("runs")
"""
    judged, ended = search(tmp_path, code, [Rung(1, 1), Rung(1, 2), Rung(1, 4)])
    assert [one.result for one in judged] == [0.5] * 3
    assert [one.work_epochs for one in ended] == [1, 1, 2]


class Slow(NoSideTask):
    """Answers for trial 0 when trial 2 has begun; knows what became of each."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.dropped_ones: list[int] = []
        self.asked: list[int] = []
        self.third = threading.Event()

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        self.begun.append(trial)
        if trial == 2:
            self.third.set()

    def is_known(self, trial: int) -> bool:
        return trial != 0

    def dropped(self, trial: int) -> None:
        self.dropped_ones.append(trial)

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        self.asked.append(trial)
        assert trial or self.third.wait(30), "the others waited for this answer"
        return {"inference_s": 0.25 + trial}


FAILS_SECOND = """
if os.path.exists("first") and not os.path.exists("second"):
    open("second", "w").close()
    raise SystemExit("no luck")
open("first", "w").close()
trimtab_trial.epoch_end(0, accuracy=0.5)
"""


def test_other_trials_do_not_wait_for_the_companion(tmp_path: Path) -> None:
    slow = Slow()
    judged, ended = search(tmp_path, FAILS_SECOND, [Rung(3, 1)], companion=slow)
    assert slow.begun == [0, 1, 2] and sorted(slow.asked) == [0, 2]
    assert slow.dropped_ones == [1]  # it has failed, and needs no answer
    results = {one.trial: one for one in judged}
    assert results[0].metrics["inference_s"] == 0.25 and results[0].result == 0.5
    assert "no luck" in str(results[1].result)
    assert results[1].ended_s <= results[0].ended_s
    assert len(ended) == 3


def test_what_the_companion_raises_ends_the_search(tmp_path: Path) -> None:
    class Broken(Slow):
        def metrics(self, trial: int) -> Mapping[str, float]:
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        search(tmp_path, FAILS_SECOND, [Rung(1, 1)], companion=Broken())


def test_the_time_of_a_search_that_was_killed_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    path = tmp_path / "clock.json"
    first = SearchClock(path, 2.0)
    now = 130.0
    first.keep()
    now = 130.5
    first.keep()  # a moment later: not written again
    now = 1000.0  # it was killed, and another goes on
    assert SearchClock(path).now_s() == SearchClock(path, 31.0).now_s() == 32.0
    assert SearchClock(path, 40.0).now_s() == 40.0  # rows say more
    for text in ("", "{}", "[]", '{"searched_s": -1}', '{"searched_s": "x"}'):
        path.write_text(text)
        assert SearchClock(path, 3.0).now_s() == 3.0


def test_a_search_keeps_its_time(tmp_path: Path) -> None:
    code = "trimtab_trial.epoch_end(0, accuracy=0.5)"
    judged, _ = search(tmp_path, code, [Rung(1, 1)])
    kept_s = json.loads((tmp_path / "trials/clock.json").read_text())["searched_s"]
    assert kept_s > 0
    again, _ = search(tmp_path, code, [Rung(2, 1)])
    assert again[0].began_s >= kept_s and judged[0].began_s < kept_s


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_trained_again_is_counted_again(tmp_path: Path, keeps: bool) -> None:
    code = f"""
for epoch in range(trimtab_trial.first_epoch(), epochs):
    {"save(epoch)" if keeps else ""}
    trimtab_trial.epoch_end(epoch, accuracy=0.5)
"""
    _, ended = search(tmp_path, code, [Rung(2, 1), Rung(1, 2), Rung(1, 4)])
    by_rung = sorted(ended, key=lambda one: (one.job.rung, one.trial))
    expected = [1, 1, 1, 2] if keeps else [1, 1, 2, 4]
    assert [one.work_epochs for one in by_rung] == expected
    assert [one.epochs_trained for one in by_rung] == [1, 1, 2, 4]
    # Of the model are its own epochs alone; the energy of processes is their starts', too.
    assert all(one.energy_j > 0 for one in ended)


def test_what_ran_out_of_memory_is_counted(tmp_path: Path) -> None:
    code = """
is_first = not os.path.exists("first")
open("first", "w").close()
for epoch in range(trimtab_trial.first_epoch(), epochs):
    if is_first and epoch == 2:
        work()
        raise MemoryError
    trimtab_trial.epoch_end(epoch, accuracy=0.5)
"""
    [one], [ended] = search(tmp_path, code, [Rung(1, 4)], steering=Asked({}))
    assert one.result == 0.5 and one.epochs_trained == 4
    assert ended.work_epochs == 2 + 4  # without checkpoints it began again
    assert ended.cpu_s > 0.2 and ended.wall_s > 0.2
    assert ended.energy_j > one.training_j
    assert one.began_s < one.ended_s - 0.2


def test_a_program_that_stops_early_by_itself(tmp_path: Path) -> None:
    code = """
for epoch in range(trimtab_trial.first_epoch(), min(2, epochs)):
    save(epoch)
    trimtab_trial.epoch_end(epoch, accuracy=0.1 * (epoch + 1))
"""
    judged, _ = search(tmp_path, code, [Rung(1, 1), Rung(1, 3), Rung(1, 4)])
    assert [one.budget.epochs for one in judged] == [1, 3, 4]
    assert [one.result for one in judged] == [0.1, 0.2, 0.2]
    # Then nothing was left to train, and nothing is counted.
    assert [one.epochs_trained for one in judged] == [1, 2, 2]
    assert [one.work_epochs for one in judged] == [1, 1, 0]


def test_energy_that_is_unknown_is_no_0(tmp_path: Path) -> None:
    nothing = HardwareModel("host", 4, 0.0, 0.0, 0.0, 8.0, 0.1, "a test")
    for code in ("trimtab_trial.epoch_end(0, accuracy=0.5)", "raise SystemExit(1)"):
        folder = tmp_path / str(len(code))
        folder.mkdir()
        judged, _ = search(folder, code, [Rung(1, 1)], hardware=nothing)
        if judged[0].energy_source != "measured":
            assert judged[0].energy_source == "unknown"
            assert judged[0].training_j != judged[0].training_j
            assert judged[0].energy_j != judged[0].energy_j


def test_a_grid_that_is_used_up_ends_the_search_with_what_was_found(tmp_path: Path) -> None:
    space = tuning(epochs={"least": 1, "most": 4}, training={"width": choices(30, 20, 10)})
    code = """
for epoch in range(trimtab_trial.first_epoch(), epochs):
    save(epoch)
    trimtab_trial.epoch_end(epoch, accuracy=width / 100)
"""
    rungs = [Rung(8, 1), Rung(4, 2), Rung(1, 4)]
    judged, _ = search(tmp_path, code, rungs, space=space, algorithm="grid")
    assert sorted(one.result for one in judged if one.job.rung == 0) == [0.1, 0.2, 0.3]  # type: ignore[type-var]
    assert sorted(one.result for one in judged if one.job.rung == 1) == [0.1, 0.2, 0.3]  # type: ignore[type-var]
    assert [one.result for one in judged if one.job.rung == 2] == [0.3]
    assert search(tmp_path, code, rungs, space=space, algorithm="grid") == ([], [])


def cpufreq(root: Path) -> Path:
    for cpu in CPUS:
        folder = root / f"cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        for name, khz in (("cpuinfo_min", 800), ("cpuinfo_max", 3000), ("scaling_max", 2900)):
            (folder / f"{name}_freq").write_text(f"{khz}000\n")
    return root


def test_a_trial_with_all_cpus_gets_its_frequency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = cpufreq(tmp_path / "cpu")
    found = partial(HighestFrequencies, root, tmp_path / "found")
    monkeypatch.setattr("trimtab.tuning.trials.settings.HighestFrequencies", found)
    paths = [str(root / f"cpu{cpu}/cpufreq/scaling_max_freq") for cpu in CPUS]
    code = f"""
trimtab_trial.first_epoch()
until(lambda: {{open(path).read().strip() for path in {paths}}} == {{"1200000"}})
trimtab_trial.epoch_end(0, accuracy=0.5)
"""
    steering = Asked({"frequency_mhz": 1200})
    judged, _ = search(tmp_path, code, [Rung(1, 1)], steering=steering, cpus=CPUS)
    assert judged[0].result == 0.5 and not steering.epochs[0].not_set
    assert {Path(path).read_text().strip() for path in paths} == {"2900000"}


@needs_two
def test_a_program_that_prints_its_epochs_gets_other_cores_between_them(tmp_path: Path) -> None:
    """Outside of it: cores follow the mark; what it would have to be told does not."""
    code = """
import os, sys, time  # no TAIL: it knows nothing of us
for epoch in range(4):
    end = time.monotonic() + 30
    wanted = 1 if epoch % 2 == 0 else 2
    while len(os.sched_getaffinity(0)) != wanted:
        assert time.monotonic() < end, "not given"
        time.sleep(0.002)
    print("epoch", 0.5, flush=True)
"""
    steering = Asked({"cores": 1}, {"cores": 2}, {"cores": 1}, {"cores": 2})
    judged, _ = search(
        tmp_path, code, [Rung(1, 4)], steering=steering, cpus=CPUS[:2],
        program={"marks": marks(r"^epoch (?P<accuracy>\S+)")},
    )  # fmt: skip
    assert judged[0].result == 0.5, judged
    assert steering.given == 4 and not any(epoch.not_set for epoch in steering.epochs)
    (tmp_path / "threads").mkdir()
    told = Asked({"threads": 1}, {"threads": 2})
    plain = "TAIL = 0\nfor _ in range(4): print('epoch', 0.5, flush=True)"
    search(
        tmp_path / "threads", plain, [Rung(1, 4)], steering=told,
        program={"marks": marks(r"^epoch (?P<accuracy>\S+)")},
    )  # fmt: skip
    assert not told.epochs[0].not_set and told.epochs[-1].not_set in ({"threads"}, frozenset())


SEES = """
for epoch in range(trimtab_trial.first_epoch(), epochs):
    with open("seen.txt", "a") as file:
        file.write(f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES')}\\n")
    SAVE
    trimtab_trial.epoch_end(epoch, accuracy=0.5)
"""


def seen(folder: Path) -> list[str]:
    return [line.split(" ", 1)[1] for line in (folder / "seen.txt").read_text().splitlines()]


@needs_two
def test_trials_at_once_have_gpus_of_their_own(tmp_path: Path) -> None:
    # The second trial begins once the first has reported an epoch.
    code = """
trimtab_trial.epoch_end(0, accuracy=0.5)
open(f"with_{os.environ['CUDA_VISIBLE_DEVICES']}", "w").close()
until(lambda: sum(name.startswith("with_") for name in os.listdir()) == 2)
trimtab_trial.epoch_end(1, accuracy=0.5)
"""
    judged, _ = search(
        tmp_path, code, [Rung(2, 2)], steering=Asked({"cores": 1, "gpus": 1}), cpus=CPUS[:2],
        gpus=("GPU-a", "GPU-b"),
    )  # fmt: skip
    assert [one.result for one in judged] == [0.5, 0.5]
    assert {path.name for path in tmp_path.glob("with_*")} == {"with_GPU-a", "with_GPU-b"}
    alone = tmp_path / "alone"
    alone.mkdir()
    judged, _ = search(
        alone, SEES.replace("SAVE", ""), [Rung(2, 1)], steering=Asked({"cores": 1, "gpus": 2}),
        cpus=CPUS[:2], gpus=("GPU-a", "GPU-b"),
    )  # fmt: skip
    assert judged[1].began_s >= judged[0].ended_s and seen(alone) == ["GPU-a,GPU-b"] * 2


def test_other_gpus_come_with_a_new_process_from_the_checkpoint(tmp_path: Path) -> None:
    one, two = {"gpus": 1}, {"gpus": 2}
    steering = Asked(one, two, two, {"gpus": 0})
    judged, ended = search(
        tmp_path, SEES.replace("SAVE", "save(epoch)"), [Rung(1, 4)], steering=steering,
        gpus=("GPU-a", "GPU-b"),
    )  # fmt: skip
    assert seen(tmp_path) == ["GPU-a", "GPU-a,GPU-b", "GPU-a,GPU-b", ""]
    assert judged[0].result == 0.5 and judged[0].epochs_trained == ended[0].work_epochs == 4
    assert not any(epoch.not_set for epoch in steering.epochs)
    # Without a checkpoint it would begin again: it goes on with what it has, and that is said.
    (tmp_path / "none").mkdir()
    steering = Asked(one, two)
    search(
        tmp_path / "none", SEES.replace("SAVE", ""), [Rung(1, 2)], steering=steering,
        gpus=("GPU-a", "GPU-b"),
    )  # fmt: skip
    assert seen(tmp_path / "none") == ["GPU-a", "GPU-a"]
    assert [set(epoch.not_set) for epoch in steering.epochs] == [set(), {"gpus"}]


def test_who_names_no_gpus_sees_all(tmp_path: Path) -> None:
    search(tmp_path, SEES.replace("SAVE", ""), [Rung(1, 1)], gpus=("GPU-a",))
    assert seen(tmp_path) == [str(os.environ.get("CUDA_VISIBLE_DEVICES"))]


def test_brackets_of_a_used_up_grid_by_hand() -> None:
    from trimtab.tuning.hyperband import HyperBand

    of = HyperBand(brackets_of(4, 2), 2)
    for trial in range(3):
        job = of.next_job()
        assert job is not None and job.trial is None
        of.start(job, trial)
    of.no_more_new()
    assert of.next_job() is None and of.waiting == 0
    for trial in range(3):
        of.report(trial, float(trial))
    job = of.next_job()
    assert job is not None and (job.rung, job.trial) == (1, 2)  # 2 of 3 go on
    for trial in (2, 1):
        job = of.next_job()
        assert job is not None and job.trial == trial
        of.start(job, trial)
        of.report(trial, float(trial))
    job = of.next_job()
    assert job is not None and (job.rung, job.trial) == (2, 2)
    of.start(job, 2)
    of.report(2, 2.0)
    assert of.is_done
