"""The parts of a library and the reasons add up to the whole."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.gpu_code import GpuCodeShares


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    return load(files.write_gpu_experiment(tmp_path))


def test_the_parts_of_the_four_largest_libraries_add_up_to_the_files(
    measurements: Measurements,
) -> None:
    values = files.values_in(GpuCodeShares(measurements).figures[0].spec)
    sizes: dict[str, float] = {}
    for row in values:
        sizes[row["library"]] = sizes.get(row["library"], 0) + row["mb"]
    # libsmall.so is the fifth.
    assert sizes == {"libcublas.so.12": 13, "libtorch_cuda.so": 12, "libmid.so": 4, "libdata.so": 3}
    torch = {row["part"]: row["mb"] for row in values if row["library"] == "libtorch_cuda.so"}
    assert torch == {"GPU code": 8, "CPU code": 2, "other": 2}


def test_targets_of_one_environment_share_a_panel(measurements: Measurements) -> None:
    (panel,) = GpuCodeShares(measurements).figures[0].spec["vconcat"]
    assert panel["title"] == ["mobilenet_train, mobilenet_infer"]


def test_targets_of_other_environments_have_panels_of_their_own(tmp_path: Path) -> None:
    names = ("one", "other")
    debloats = [
        files.write_debloat(tmp_path / "d" / name, name, (name,), files.GPU_LIBRARY_ROWS[:count])
        for name, count in zip(names, (5, 3), strict=True)
    ]
    profiles = [files.write_profile(tmp_path / "p" / name, name) for name in names]
    figure = GpuCodeShares(load(files.inputs(profiles, debloats))).figures[0]
    assert [panel["title"] for panel in figure.spec["vconcat"]] == [["one"], ["other"]]


def test_the_reasons_are_all_removed_elements_of_each_target(measurements: Measurements) -> None:
    found = {
        (row["target"], row["reason"].split(":")[0]): row["elements"]
        for row in files.values_in(GpuCodeShares(measurements).figures[1].spec)
    }
    assert found == {
        (target, reason): count
        for target in ("mobilenet_train", "mobilenet_infer")
        for reason, count in (("I", 85), ("II", 10), ("III", 1))
    }


def test_a_target_that_kept_everything_has_no_bar(tmp_path: Path) -> None:
    kept = [files.library("lib/libtorch_cuda.so", gpu_bytes=(9, 9), elements=(5, 0, 0, 0))]
    debloat = files.write_debloat(tmp_path / "d", libraries=kept)
    figure = GpuCodeShares(
        load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))
    ).figures[1]
    assert files.values_in(figure.spec) == []
    assert "NaN" not in figure.svg


def test_the_shares_are_written_into_the_bars(measurements: Measurements) -> None:
    # 85 of 96 and 10 of 96; 1 of 96 would not fit.
    svg = GpuCodeShares(measurements).figures[1].svg
    assert ">88.5%<" in svg and ">10.4%<" in svg and ">1.0%<" not in svg
    # 8 of 12 MB of libtorch_cuda.so.
    assert ">66.7%<" in GpuCodeShares(measurements).figures[0].svg


def test_the_published_shares_are_in_the_captions(measurements: Measurements) -> None:
    assert "68 to 91 %" in GpuCodeShares(measurements).figures[0].caption
    assert "over 80 %" in GpuCodeShares(measurements).figures[1].caption
