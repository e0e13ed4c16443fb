"""LeNet5 tuned for real: its outputs are workloads, to train and to serve with."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_search import HOST

from trimtab.config import Configurations
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.tuning import EpochRange
from trimtab.config.groups.workload import Workload
from trimtab.profiling.runs.from_workload import program_of
from trimtab.tuning.deployment.outputs import result_in
from trimtab.tuning.tune import Request, tune

ROOT = Path(__file__).parents[3]
SMALL = {"train_samples": 120, "test_samples": 64}


def here(workload: Workload) -> Workload:
    return replace(
        workload, python=sys.executable, workdir=str(ROOT),
        env={**workload.env, "PYTHONPATH": str(ROOT / "src")},
        parameters={**workload.parameters, **SMALL},
    )  # fmt: skip


def run(workload: Workload, folder: Path, **parameters: Any) -> dict[str, Any]:
    given = replace(workload, parameters={**workload.parameters, **parameters})
    program = program_of(here(given), folder)
    subprocess.run(
        program.command, cwd=program.workdir, env=program.environment, check=True, timeout=120
    )
    metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return metrics


@pytest.mark.nightly
def test_a_search_leaves_what_is_trained_and_served(tmp_path: Path) -> None:
    conf, results = tmp_path / "conf", tmp_path / "results"
    shutil.copytree(ROOT / "conf", conf)
    of = Configurations(conf, ["experiment=tune_quick"])
    trains, serves = of.option("workload", "lenet5_train"), of.inference_workload("lenet5_train")
    assert serves is not None
    request = Request(
        here(replace(trains, tuning=replace(trains.tuning, epochs=EpochRange(1, 1),
                                            data_fraction=None))),
        TunerConfig("edgetune", "edgetune", parameters={"inference_configurations": 1}),
        of.option("objective", "time_by_accuracy"),
        HOST,
        inference_workload=here(serves),
    )  # fmt: skip
    tune(request, [1], results, tmp_path / "truth.json")
    for file, name in (("best", "lenet5_train_tuned"), ("inference", "lenet5_inference_tuned")):
        assert f"name: {name}\n" in (results / f"{file}.yaml").read_text()
        shutil.copy(results / f"{file}.yaml", conf / "workload" / f"{name}.yaml")

    tuned = Configurations(conf, ["experiment=tune_quick"])
    best = tuned.option("workload", "lenet5_train_tuned")
    said = result_in(results / "best.yaml")
    assert best.parameters["batch_size"] == said["parameters"]["batch_size"]
    assert best.command == trains.command and best.tuning.training == trains.tuning.training
    cores = best.tuning.system["cores"]
    assert (cores.default, cores.high) == (said["system"]["cores"], 2)
    assert best.memory_gib == said["system"]["memory_gib"]
    weights = str(tmp_path / "weights.pt")
    trained = run(best, tmp_path / "trained", save_weights=weights)
    assert trained["train_samples"] == 100 and Path(weights).is_file()

    use = tuned.option("workload", "lenet5_inference_tuned")
    found = result_in(results / "inference.yaml")
    assert found["planned_configurations"] == found["measured_configurations"] == 1
    assert found["inference_s"] > 0 and found["energy"] == "modelled"
    assert use.env["OMP_NUM_THREADS"] == str(found["system"]["cores"])
    served = run(use, tmp_path / "served", weights=weights)
    assert served["weights"] == f"read from {weights}"
    assert served["batch_size"] == found["parameters"]["batch_size"]
    assert served["test_accuracy"] == trained["test_accuracy"]
