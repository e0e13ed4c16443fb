"""The numbers that versions are compared by: ours, and only what is known."""

import json
from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.tables import table_2
from trimtab.evaluation.report.metrics import metrics
from trimtab.evaluation.runs.tables import table_5, table_8


def test_they_hold_our_numbers_by_target_and_workload(tmp_path: Path) -> None:
    measurements = load(files.write_experiment(tmp_path))
    tables = (table_2(measurements), table_8(measurements))
    found = metrics(True, tables, table_5(measurements))
    assert found["verified"] == 1
    assert list(found["targets"]) == ["lenet5_train"]
    assert list(found["workloads"]) == ["lenet5_train/lenet5_train"]
    assert found["targets"]["lenet5_train"]["file_size_reduction_pct"] == 62.5
    assert found["targets"]["lenet5_train"]["end_to_end_s"] == 39.5
    workload = found["workloads"]["lenet5_train/lenet5_train"]
    assert workload["wall_reduction_pct"] == pytest.approx(20)


def test_they_hold_what_went_of_gpu_code(tmp_path: Path) -> None:
    measurements = load(files.write_gpu_experiment(tmp_path))
    found = metrics(True, (table_2(measurements),), table_5(measurements))
    target = found["targets"]["mobilenet_train"]
    assert (target["gpu_code_reduction_pct"], target["elements_reduction_pct"]) == (93, 96)
    assert target["elements_architecture"] == 85
    assert "gpu_code_mb" not in found["targets"]["lenet5_train"]
    workload = found["workloads"]["mobilenet_train/mobilenet_train"]
    assert workload["peak_gpu_memory_reduction_pct"] == 75


def test_an_unknown_number_is_left_out_and_the_rest_is_json(tmp_path: Path) -> None:
    runs = [row | {"energy_j": None} for row in files.verify_runs("lenet5_train")]
    debloat = files.write_debloat(tmp_path / "d", runs=runs)
    measurements = load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))
    found = metrics(False, (table_2(measurements),), table_5(measurements))
    assert found["verified"] == 0
    assert "energy_j" not in found["workloads"]["lenet5_train/lenet5_train"]
    json.dumps(found, allow_nan=False)
