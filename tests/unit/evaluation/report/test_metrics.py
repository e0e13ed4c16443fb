"""The numbers that versions are compared by: ours, and only what is known."""

import json
from pathlib import Path
from typing import Any

import experiment_files as files
import pytest

from trimtab.evaluation.evaluate import evaluate, merged
from trimtab.evaluation.inputs.measurements import EvaluationInputs


def metrics(inputs: EvaluationInputs, folder: Path) -> Any:
    evaluate(inputs, folder)
    return json.loads((folder / "metrics.json").read_text())


def test_they_hold_our_numbers_by_target_and_workload(tmp_path: Path) -> None:
    numbers = metrics(files.write_experiment(tmp_path), tmp_path / "out")
    assert set(numbers) == {"verified", "targets", "workloads"}
    assert numbers["verified"] == 1
    assert list(numbers["targets"]) == ["lenet5_train"]
    assert list(numbers["workloads"]) == ["lenet5_train/lenet5_train"]
    # All libraries and the time to debloat them are about the same target.
    assert numbers["targets"]["lenet5_train"]["file_size_reduction_pct"] == 62.5
    assert numbers["targets"]["lenet5_train"]["end_to_end_s"] == 39.5
    workload = numbers["workloads"]["lenet5_train/lenet5_train"]
    assert workload["wall_reduction_pct"] == pytest.approx(20)


def test_they_hold_what_went_of_gpu_code(tmp_path: Path) -> None:
    numbers = metrics(files.write_gpu_experiment(tmp_path), tmp_path / "out")
    target = numbers["targets"]["mobilenet_train"]
    assert (target["gpu_code_reduction_pct"], target["elements_reduction_pct"]) == (93, 96)
    assert target["elements_architecture"] == 85
    assert "gpu_code_mb" not in numbers["targets"]["lenet5_train"]
    workload = numbers["workloads"]["mobilenet_train/mobilenet_train"]
    assert workload["peak_gpu_memory_reduction_pct"] == 75


def test_an_unknown_number_is_left_out(tmp_path: Path) -> None:
    runs = [row | {"energy_j": None} for row in files.verify_runs("lenet5_train")]
    debloat = files.write_debloat(tmp_path / "d", runs=runs, **files.FAILED)
    inputs = files.inputs([files.write_profile(tmp_path / "p")], [debloat])
    numbers = metrics(inputs, tmp_path / "out")
    assert numbers["verified"] == 0
    assert "energy_j" not in numbers["workloads"]["lenet5_train/lenet5_train"]


def test_sections_add_to_one_another() -> None:
    parts = [{"a": {"x": {"one": 1}}}, {"b": 2}, {"a": {"x": {"two": 2}, "y": {}}}]
    assert merged(parts) == {"a": {"x": {"one": 1, "two": 2}, "y": {}}, "b": 2}
