"""Which targets state a loading mode, with the figures of all libraries and of all runs."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements, WorkloadFacts
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.libraries_total import LibrariesTotal
from trimtab.evaluation.libraries.loading_modes import SizesByLoadingMode
from trimtab.evaluation.report.tables import Row, Table, is_published
from trimtab.evaluation.runs.run_cost import RunCost, RunCostByLoadingMode


def ours(table: Table) -> list[Row]:
    return [row for row in table.rows if not is_published(row)]


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    return load(files.write_gpu_experiment(tmp_path))


@pytest.mark.parametrize(
    ("environment", "loading"),
    [
        ({"CUDA_MODULE_LOADING": "EAGER"}, "eager"),
        ({"CUDA_MODULE_LOADING": "LAZY"}, "lazy"),
        ({"CUDA_MODULE_LOADING": "DEFAULT"}, ""),
        ({"OMP_NUM_THREADS": "1"}, ""),
        ({}, ""),
    ],
)
def test_the_loading_mode_is_what_the_driver_reads(
    environment: dict[str, str], loading: str
) -> None:
    assert WorkloadFacts(environment=environment).loading == loading


def test_the_sizes_of_both_modes_are_those_of_all_libraries(measurements: Measurements) -> None:
    rows = ours(SizesByLoadingMode(measurements).tables[0])
    assert [(row["name"], row["loading"]) for row in rows] == [
        ("mobilenet_train", "eager"),
        ("mobilenet_infer", "lazy"),
    ]
    for row, same in zip(rows, ours(LibrariesTotal(measurements).tables[0]), strict=False):
        assert row["name"] == same["name"]
        assert all(row[key] == same[key] for key in row if key != "loading")


def test_the_runs_of_both_modes_are_those_of_the_run_cost(measurements: Measurements) -> None:
    rows = ours(RunCostByLoadingMode(measurements).tables[0])
    assert [row["loading"] for row in rows] == ["eager", "lazy"]
    assert [row["peak_gpu_memory_reduction_pct"] for row in rows] == [75, 75]
    for row, same in zip(rows, ours(RunCost(measurements).tables[0]), strict=False):
        assert {key: row[key] for key in row if key != "loading"} == same


def test_a_mode_says_nothing_where_there_is_no_gpu_code(tmp_path: Path) -> None:
    profile, debloat = files.write_profile(tmp_path / "p"), files.write_debloat(tmp_path / "d")
    facts = {"lenet5_train": WorkloadFacts(environment=files.EAGER)}
    measurements = load(files.inputs([profile], [debloat], workloads=facts))
    for table in (
        SizesByLoadingMode(measurements).tables[0],
        RunCostByLoadingMode(measurements).tables[0],
    ):
        assert ours(table) == []
        assert len(table.rows) == 4
        assert not table.ours
        assert "CUDA_MODULE_LOADING" in table.missing
