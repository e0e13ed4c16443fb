"""EdgeTune over programs that run for real: a training whose model another program uses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from shipped_configurations import SHIPPED
from spaces import choices, tuning
from test_search import HOST
from trials.trial_programs import workload

from trimtab.config.groups.hardware import Roofline
from trimtab.config.groups.objective import Goal, Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Phase, Workload
from trimtab.errors import UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import INFERENCE, TRIALS
from trimtab.tuning.deployment.outputs import result_in
from trimtab.tuning.inference.effort import MeasurementCost
from trimtab.tuning.inference.emulation import Device
from trimtab.tuning.inference.of_workload import inference_cpus
from trimtab.tuning.plan import RungResult
from trimtab.tuning.tune import Request, tune

PI = SHIPPED.option("hardware", "raspberry_pi_3b_plus")

# The wider the model the better it is, and the longer it takes to be used.
TRAINING = """
import sys, trimtab_trial
given = dict(word[2:].split("=") for word in sys.argv[1:])
for epoch in range(trimtab_trial.first_epoch(), int(given["epochs"])):
    trimtab_trial.epoch_end(epoch, accuracy=1 - 0.5 ** int(given["width"]))
"""
USE = """
import sys, trimtab_trial
given = dict(word[2:].split("=") for word in sys.argv[1:])
with open("used.txt", "a") as file:
    file.write(f"{given['width']} {given['batch_size']}\\n")
if given["batch_size"] == "64":
    raise SystemExit("too much")
batch_s = 0.5 * int(given["width"]) * (1 + int(given["batch_size"]))
for number in range(9):
    times = {f"batch_{one}_s": batch_s for one in range(3)}
    trimtab_trial.epoch_end(number, batches=3, served_s=3 * batch_s, **times)
"""
TUNING = tuning(
    epochs={"least": 1, "most": 3},
    model={"width": choices(1, 2, 3)},
    training={"rate": {"low": 0.0, "high": 1.0, "default": 0.5}},
    system={"memory_gib": choices(2, 4)},
    inference={"batch_size": choices(1, 4, 64)},
    inference_workload="use",
)
PROJECT = Path(__file__).parents[4]
PER_TIME = Objective("per_time", score="accuracy / inference_s", goal=Goal.MAXIMISE)


def request(folder: Path, objective: Objective = PER_TIME, **parameters: Any) -> Request:
    placed = ["--width={width}", "--epochs={epochs}", "--rate={rate}"]
    trains, uses = workload(TRAINING, workdir=str(folder)), workload(USE, workdir=str(folder))
    return Request(
        Workload(**{**vars(trains), "command": [*trains.command, *placed],
                    "name": "training", "tuning": TUNING,
                    "parameters": {"epochs": 1, "width": 1, "rate": 0.5}}),
        TunerConfig("edgetune", "edgetune", parameters=parameters),
        objective,
        HOST,
        inference_workload=Workload(
            **{**vars(uses), "name": "use", "phase": Phase.INFERENCE,
               "command": [*uses.command, "--width={width}", "--batch_size={batch_size}"],
               "parameters": {"width": 1, "batch_size": 1}}
        ),
    )  # fmt: skip


def used(folder: Path) -> list[str]:
    return (folder / "used.txt").read_text().splitlines()


def test_the_objective_knows_what_inference_costs_and_nothing_is_measured_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    took_s, add = list[float](), MeasurementCost.add

    def added(cost: MeasurementCost, wall_s: float, energy_j: float) -> None:
        took_s.append(wall_s)
        add(cost, wall_s, energy_j)

    monkeypatch.setattr(MeasurementCost, "add", added)
    folder, results = tmp_path / "results", list[RungResult]()
    given = request(tmp_path)
    tune(given, [1], folder, tmp_path / "truth.json", lambda _, fold, one: results.append(one))
    table = read_table(folder / "trials.parquet", TRIALS)
    widths = table["configuration"].map(lambda text: json.loads(text)["model.width"])
    # In fours a sample takes 0.5 x 5 / 4 of the width, in ones 1.
    assert set((table["inference_s"] / widths).round(6)) <= {0.625, 1.0}
    assert (table["score"] == table["accuracy"] / table["inference_s"]).all()
    # What that took stands beside, and each measurement is charged once.
    assert table["inference_tuning_s"].sum() == pytest.approx(sum(took_s)) and took_s
    assert ((table["inference_tuning_j"] > 0) == (table["inference_tuning_s"] > 0)).all()
    worked = [words for words in used(tmp_path) if not words.endswith(" 64")]
    assert len(set(worked)) == len(worked)
    inference = (folder / "inference.yaml").read_text()
    document = yaml.safe_load(inference)
    assert document["defaults"] == ["use", "_self_"] and document["name"] == "use_tuned"
    best = yaml.safe_load((folder / "best.yaml").read_text())
    assert document["parameters"]["width"] == best["parameters"]["width"]
    assert best["name"] == "training_tuned" and set(best["parameters"]) == {
        "width", "rate", "epochs"}  # fmt: skip
    assert best["tuning"]["system"]["memory_gib"]["default"] == best["memory_gib"]
    assert "# planned_configurations: 3\n" in inference and "# energy: modelled\n" in inference
    # One of the batch sizes fails wherever it is tried, which ends nothing, and is not kept.
    known = json.loads((tmp_path / "known_inference.json").read_text())
    tried = [one for known in known["architectures"] for one in known["measured"]]
    failures = [one["failure"] for one in tried if one["configuration"]["batch_size"] == 64]
    assert failures == []
    measured = read_table(folder / "inference.parquet", INFERENCE)
    assert len(measured) == len(tried) and (measured["inference_s"] > 0).all()
    # It is all known to the next search.
    before = used(tmp_path)
    tune(given, [1], folder, tmp_path / "truth.json", lambda *_: pytest.fail("ran again"))
    assert used(tmp_path) == before and (folder / "inference.yaml").read_text() == inference


def test_a_device_is_emulated_and_says_so(tmp_path: Path) -> None:
    # Nine times less arithmetic than its host and four times less memory: 6 times as slow, of which
    # 4 times is standing still, which these made-up times know nothing of, and 1.5 is on paper.
    host = replace(PI, name="host", rooflines=[Roofline(1, 4.5 * 9, 1.1 * 4, 40.0)])
    folder, given = tmp_path / "results", request(tmp_path)
    there = replace(given, device=Device(PI, host))
    tune(there, [1], folder, tmp_path / "truth.json")
    table = read_table(folder / "trials.parquet", TRIALS)
    widths = table["configuration"].map(lambda text: json.loads(text)["model.width"])
    assert set((table["inference_s"] / widths).round(6)) <= {1.5 * 0.625, 1.5}
    # It lies between what calls (no slower) and arithmetic (9 times) would make of it.
    assert (table["inference_s_low"] / table["inference_s"]).to_numpy() == pytest.approx(1 / 6)
    assert (table["inference_s_high"] / table["inference_s"]).to_numpy() == pytest.approx(9 / 6)
    # Its energy is that of the whole board, 2.5 to 6 W, and not that of the host.
    power_w = table["inference_j"] / table["inference_s"]
    assert (power_w >= 2.5).all() and (power_w <= 6).all()
    said = result_in(folder / "inference.yaml")
    assert (said["source"], said["device"]) == ("emulated", "raspberry_pi_3b_plus")
    assert said["inference_s_interval"] == pytest.approx(
        [said["inference_s"] / 6, said["inference_s"] * 9 / 6]
    )
    assert said["scale_error"] == "unmeasured" and said["energy"] == "modelled"
    # What this machine takes is another thing, as is a device whose figures were corrected.
    before = len(used(tmp_path))
    tune(given, [1], folder, tmp_path / "truth.json")
    assert "source" not in result_in(folder / "inference.yaml")
    table = read_table(folder / "trials.parquet", TRIALS)
    assert table["inference_s_low"].isna().all()
    between = len(used(tmp_path))
    assert between > before
    other = replace(there, device=Device(replace(PI, memory_gib=0.9), host))
    tune(other, [1], folder, tmp_path / "truth.json")
    after = len(used(tmp_path))
    assert after > between
    tune(there, [1], folder, tmp_path / "truth.json")
    assert [line for line in used(tmp_path)[after:] if not line.endswith(" 64")] == []


def test_two_folds(tmp_path: Path) -> None:
    folder, results = tmp_path / "results", list[RungResult]()
    given = request(tmp_path, approach="hierarchical")
    tune(given, [1], folder, tmp_path / "truth.json", lambda _, fold, one: results.append(one))
    first = [one for one in results if "model.width" in one.configuration]
    second = [one for one in results if one not in first]
    # The first knows no inference and wants the most accurate; the second has its best alone.
    assert all("inference_s" not in one.metrics for one in first)
    widest = max(one.configuration["model.width"] for one in first if one.budget.epochs == 3)
    assert second and all(set(one.configuration) == {"system.memory_gib"} for one in second)
    assert {one.metrics["accuracy"] for one in second} == {1 - 0.5**widest}
    assert all(one.budget.epochs == 3 for one in second)
    assert {line.split()[0] for line in used(tmp_path)} == {str(widest)}
    table = read_table(folder / "trials.parquet", TRIALS)
    assert [len(table[table["fold"] == fold]) for fold in (1, 2)] == [len(first), len(second)]
    best = yaml.safe_load((folder / "best.yaml").read_text())
    assert best["parameters"]["width"] == widest and 0 <= best["parameters"]["rate"] <= 1


def test_the_baseline_searches_by_the_accuracy_what_it_cannot_measure(tmp_path: Path) -> None:
    """Thesis, section 7.5.2: it ignores the inference phase, and so leaves no set-up of it."""
    given, folder = request(tmp_path), tmp_path / "results"
    bohb = SHIPPED.option("tuner", "bohb")
    tune(Request(**{**vars(given), "tuner": bohb}), [1], folder, tmp_path / "truth.json")
    table = read_table(folder / "trials.parquet", TRIALS)
    assert (table["score"] == table["accuracy"]).all() and table["inference_s"].isna().all()
    assert table["inference_tuning_s"].isna().all()
    assert not (folder / "inference.yaml").exists() and not (tmp_path / "used.txt").exists()
    first_line = (folder / "best.yaml").read_text().splitlines()[0]
    assert "for per_time on host, searched by accuracy, as it measures no inference" in first_line
    other = Request(**{**vars(given), "tuner": TunerConfig("v1", "hyperband")})
    with pytest.raises(UserError, match=r"objective per_time: score: inference_s .* kind edgetune"):
        tune(other, [1], tmp_path / "r", tmp_path / "t")
    assert not (tmp_path / "r").exists()


def test_what_cannot_be_tuned_so(tmp_path: Path) -> None:
    given = request(tmp_path)

    def tuned(**keys: Any) -> None:
        tune(Request(**{**vars(given), **keys}), [1], tmp_path / "r", tmp_path / "t")

    without = Workload(**{**vars(given.workload), "tuning": tuning(model={"width": choices(1)})})
    with pytest.raises(UserError, match=r"tuning.inference, tuning.inference_workload: expected"):
        tuned(workload=without)
    with pytest.raises(UserError, match=r"tuning.inference_workload: expected a workload"):
        tuned(inference_workload=None)
    for parameters, message in (
        ({"approach": "threefold"}, "threefold"),
        ({"searched": ["training"], "approach": "hierarchical"}, "searched: expected"),
        ({"inference_configurations": 0}, "expected 1 or more"),
        ({"inference_algorithm": "tpee"}, "did you mean tpe"),
    ):
        with pytest.raises(UserError, match=message):
            tuned(tuner=TunerConfig("x", "edgetune", parameters=parameters))
    odd = tuning(**{**KEYS, "inference": {"gpus": choices(0, 1)}})
    with pytest.raises(UserError, match=r"tuning.inference.gpus: is not measured"):
        tuned(workload=Workload(**{**vars(given.workload), "tuning": odd}))


KEYS: dict[str, Any] = {
    "model": {"width": choices(1, 2)},
    "inference": {"batch_size": choices(1)},
    "inference_workload": "use",
}


def test_cpus_that_inference_is_measured_on() -> None:
    many = tuning(**{**KEYS, "inference": {"cores": choices(1, 3)}})
    assert [inference_cpus(cpus, many) for cpus in (16, 4, 3, 1)] == [3, 2, 1, 1]
    assert inference_cpus(4, tuning(**KEYS)) == 1
