"""Violins: one dot a library that has the code in question, and the published medians."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.reductions import LibraryReductions
from trimtab.evaluation.report.figures import Figure


def dots(figure: Figure, target: str, code: str) -> dict[str, float]:
    return {
        row["library"]: row["reduction_pct"]
        for row in files.values_in(figure.spec)
        if "library" in row and (row["target"], row["code"]) == (target, code)
    }


def medians(figure: Figure) -> list[tuple[float, float]]:
    """The published medians that are marked, and the middle of each mark."""
    return [
        (row["published_pct"], (row["left"] + row["right"]) / 2)
        for row in files.values_in(figure.spec)
        if "published_pct" in row
    ]


def test_libraries_without_functions_are_left_out(tmp_path: Path) -> None:
    size, count = LibraryReductions(load(files.write_experiment(tmp_path))).figures
    assert dots(size, "lenet5_train", "CPU") == {
        "lib/libbig.so": 90,
        "lib/libmid.so": 75,
        "lib/libsmall.so": 0,
    }
    assert dots(count, "lenet5_train", "CPU") == {
        "lib/libbig.so": 90,
        "lib/libmid.so": 90,
        "lib/libsmall.so": 0,
    }


def test_libraries_without_gpu_code_are_left_out_of_its_violin(tmp_path: Path) -> None:
    size, count = LibraryReductions(load(files.write_gpu_experiment(tmp_path))).figures
    assert dots(size, "mobilenet_train", "GPU") == {
        "lib/libtorch_cuda.so": 93.75,  # 8 -> 0.5 MB
        "lib/libcublas.so.12": 90,
    }
    assert dots(count, "mobilenet_train", "GPU") == {
        "lib/libtorch_cuda.so": 96.25,  # 80 -> 3 elements
        "lib/libcublas.so.12": 95,
    }
    assert set(dots(size, "mobilenet_train", "CPU")) >= {"lib/libtorch_cuda.so", "lib/libmid.so"}
    assert dots(size, "lenet5_train", "GPU") == {}


def test_the_violins_of_cpu_and_gpu_code_stand_beside_each_other(tmp_path: Path) -> None:
    size, _ = LibraryReductions(load(files.write_gpu_experiment(tmp_path))).figures
    drawn = [row for row in files.values_in(size.spec) if "library" in row]
    centres = {row["code"]: row["centre"] for row in drawn}
    assert centres["CPU"] < 0 < centres["GPU"]
    # The outlines are at most 1 to either side: they do not touch.
    assert centres["GPU"] - centres["CPU"] > 2
    assert medians(size) == [(25, centres["CPU"]), (80, centres["GPU"])]
    assert ">GPU<" in size.svg


def test_only_the_medians_that_the_paper_states_are_marked(tmp_path: Path) -> None:
    size, count = LibraryReductions(load(files.write_experiment(tmp_path))).figures
    assert medians(size) == [(25, 0)]
    assert medians(count) == []
    assert "25 % of CPU code" in size.caption
    assert "GPU" not in size.caption + count.caption
    assert "no median" in count.caption


@pytest.mark.parametrize("rows", [[files.library("only.so", (10, 10), (0, 0), (0, 0), "no code")]])
def test_an_experiment_with_nothing_to_show_still_draws(rows: list[dict[str, Any]]) -> None:
    target = files.target_of(rows)
    for figure in LibraryReductions(
        Measurements(files.inputs([], []), {"debloat": (target,)})
    ).figures:
        assert "<svg" in figure.svg
