"""Functions above the diagonal, kernels below, and no builds compared."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.similarity import Similarity
from trimtab.evaluation.report.tables import Table
from trimtab.records.used import UsedCode


def core(library: str, build_id: str | None = "ab12", size: int = 1_000_000) -> dict[str, Any]:
    return files.library(library, (size, size // 2)) | {"build_id": build_id}


def tables(
    tmp_path: Path, targets: dict[str, tuple[dict[str, Any], UsedCode]]
) -> tuple[Table, Table]:
    """The matrices of targets with one library each and what was used of it."""
    profiles = [files.write_profile(tmp_path / "p" / name, name) for name in targets]
    debloats = [
        files.write_debloat(
            tmp_path / "d" / name, name, (name,), [library], used={library["library"]: used}
        )
        for name, (library, used) in targets.items()
    ]
    return of(load(files.inputs(profiles, debloats)))


def of(measurements: Measurements) -> tuple[Table, Table]:
    torch, tensorflow = Similarity(measurements).tables
    return torch, tensorflow


def cells(table: Table) -> list[list[object]]:
    return [[row[f"with {other['name']}"] for other in table.rows] for row in table.rows]


A = UsedCode(frozenset({1, 2, 3, 4}), frozenset({"k1", "k2"}))
B = UsedCode(frozenset({2, 3, 4, 5, 6}), frozenset({"k2", "k3", "k4"}))
C = UsedCode(frozenset({9}), frozenset())


def test_functions_stand_above_the_diagonal_and_kernels_below(tmp_path: Path) -> None:
    library = core("lib/libtorch_cuda.so")
    used = {"a": A, "b": B, "c": C}
    table, tensorflow = tables(tmp_path, {name: (library, code) for name, code in used.items()})
    assert cells(table) == [[None, 3 / 6, 0.0], [1 / 4, None, 0.0], [0.0, 0.0, None]]
    assert [row["library"] for row in table.rows] == ["libtorch_cuda.so"] * 3
    assert tensorflow.rows == () and "no target of the experiment uses" in tensorflow.missing


def test_code_that_nobody_used_is_not_called_alike(tmp_path: Path) -> None:
    library, nothing = core("lib/libtorch_cuda.so"), UsedCode(frozenset({1}), frozenset())
    table, _ = tables(tmp_path, {"a": (library, nothing), "b": (library, nothing)})
    assert cells(table) == [[None, 1.0], [None, None]]


@pytest.mark.parametrize(
    "other",
    [
        core("lib/libtorch_cuda.so", "cd34"),
        core("lib/libtorch_cuda.so", None),
        core("lib/libtorch_cuda.so", "ab12", 2_000_000),
        core("lib/libtorch_cpu.so"),
    ],
)
def test_addresses_of_different_builds_are_not_compared(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    table, _ = tables(tmp_path, {"a": (core("lib/libtorch_cuda.so"), A), "b": (other, A)})
    assert cells(table) == [[None, None], [None, None]]


def test_code_of_a_library_that_could_not_be_traced_is_not_known(tmp_path: Path) -> None:
    measurements = load(files.write_gpu_experiment(tmp_path))
    assert cells(Similarity(measurements).tables[0])[0] == [None, 0.5, None]
    (rows,) = [target for target in measurements.targets if target.label == "lenet5_train"]
    assert rows.used == {}


def test_tensorflow_has_a_table_of_its_own(tmp_path: Path) -> None:
    torch, tensorflow = core("lib/libtorch_cuda.so"), core("lib/libtensorflow_cc.so.2")
    others, of_tensorflow = tables(
        tmp_path,
        {"a": (torch, A), "b": (tensorflow, A), "c": (torch, B), "d": (tensorflow, B)},
    )
    assert [row["name"] for row in others.rows] == ["a", "c"]
    assert [row["name"] for row in of_tensorflow.rows] == ["b", "d"]
    assert cells(of_tensorflow) == [[None, 0.5], [0.25, None]]


def test_one_target_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    for table in tables(tmp_path, {"a": (core("lib/libtensorflow_cc.so.2"), A)}):
        assert table.rows == ()
        assert "two targets" in table.missing


def test_the_published_matrix_is_the_printed_one() -> None:
    # The rows of Table 4, as they stand in the paper.
    torch, tensorflow = (table.apart for table in of(Measurements(files.inputs([], []))))
    assert torch and tensorflow
    assert cells(torch) == [
        [None, 0.96, 0.89, 0.89, 0.73],
        [0.42, None, 0.89, 0.92, 0.74],
        [0.12, 0.06, None, 0.94, 0.75],
        [0.06, 0.13, 0.24, None, 0.77],
        [0.07, 0.08, 0.07, 0.08, None],
    ]
    assert cells(tensorflow) == [
        [None, 0.89, 0.95, 0.89],
        [0.5, None, 0.86, 0.82],
        [0.38, 0.29, None, 0.88],
        [0.02, 0.03, 0.05, None],
    ]
    assert [row["name"] for row in torch.rows] == [
        "MobileNetV2 PyTorch Train",
        "MobileNetV2 PyTorch Inference",
        "Transformer PyTorch Train",
        "Transformer PyTorch Inference",
        "Llama2 Transformers Inference",
    ]
