"""The tables and figures of container images, from numbers to compute by hand."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pandas as pd
import pytest

from trimtab.evaluation.images.image_runs import ImageRuns
from trimtab.evaluation.images.image_sizes import ImageSizes
from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.whole_environment import WholeEnvironment
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.manifest import Environment, Manifest
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import FILES

MB = 1_000_000
REMOVED = [  # path, kind, bytes, whether it stays
    ("/usr/lib/libbig.so.1", "shared libraries", 30 * MB, False),
    ("/usr/lib/libstays.so.1", "shared libraries", 50 * MB, True),
    ("/usr/lib/libsmall.so.1", "shared libraries", 9 * MB, False),
    ("/usr/share/doc/large", "documentation", 11 * MB, False),
    ("/usr/lib/other_name.so.1", "shared libraries", 0, False),
]


def measured(folder: Path, kind: str = "image", **row: Any) -> Measurements:
    """One target of this kind, with three interleaved pairs of runs, all changed by `row`."""
    runs = [each | row for each in files.verify_runs("lenet5_train")]
    place = files.write_debloat(folder / "debloat", runs=runs)
    manifest = Manifest.read(place / "manifest.json")
    environment = {"environment": Environment(kind, "/images/demo.tar")}
    manifest.model_copy(update=environment).write(place / "manifest.json")
    BuiltEnvironment(
        target="lenet5_train", before_bytes=200 * MB, after_bytes=30 * MB, shared_bytes=0, linked={}
    ).write(place / "environment.json")
    paths = [
        {
            "target": "lenet5_train",
            "hardware": files.HARDWARE,
            "path": path,
            "type": "file",
            "package": "",
            "kind": what,
            "group": "",
            "size_bytes": size,
            "counts": True,
            "kept": kept,
            "reason": "",
        }
        for path, what, size, kept in REMOVED
    ]
    paths.append(
        paths[0] | {"path": "/usr/lib/libbig.so", "type": "link", "size_bytes": 0, "counts": False}
    )
    write_table(place / "files.parquet", FILES, pd.DataFrame(paths))
    return load(files.inputs([files.write_profile(folder / "profile")], [place]))


def test_another_environment_is_no_image(tmp_path: Path) -> None:
    other = measured(tmp_path, "python_prefix")
    assert not ImageSizes(other).applies and not ImageRuns(other).applies


def test_sizes_and_the_large_files_that_went(tmp_path: Path) -> None:
    section = ImageSizes(measured(tmp_path))
    assert section.applies
    sizes, large = section.tables
    [ours] = sizes.ours
    assert (ours["before_mb"], ours["after_mb"]) == (200, 30)
    assert ours["size_reduction_pct"] == pytest.approx(85)
    [ours] = large.ours
    assert (ours["removed_mb"], ours["large_files"], ours["large_mb"]) == (50, 2, 41)
    assert (ours["large_libraries_mb"], ours["large_libraries_share_pct"]) == (30, 60)
    [figure] = section.figures
    bars = {(bar["image"], bar["size"]): bar["mb"] for bar in files.values_in(figure.spec)}
    assert bars["lenet5_train", "slim"] == 30 and bars["Cimplifier, Python", "slim"] == 26.7
    assert len(bars) == 2 * 8 and "Figure 4.4" in figure.title
    [(name, key), *_] = WholeEnvironment(section.measurements).key_figures()
    assert key.label == "Whole image, on disk" and key.effect == "better"
    assert name == "lenet5_train" and "85.0" in key.change and "30" in key.detail


def test_times_are_averages_with_their_deviation_and_pairs(tmp_path: Path) -> None:
    cost, _ = ImageRuns(measured(tmp_path)).tables
    [ours] = cost.ours
    assert ours["runs"] == 3 and ours["outputs"] == 1
    assert (ours["original_s"], ours["slim_s"]) == (pytest.approx(14), pytest.approx(31 / 3))
    assert ours["original_deviation_s"] == pytest.approx(28**0.5)
    assert ours["wall_difference_pct"] == pytest.approx(-20)  # of the pairs 0.9, 0.8 and 0.5
    assert ours["wall_difference_low_pct"] == pytest.approx(-50)
    published = [row for row in cost.rows if row not in cost.ours]
    assert len(published) == 3 + 3 + 3 + 2 + 3
    assert {row["runs"] for row in published} == {25}


def test_power_is_energy_by_time_and_gpu_memory_beside_the_published(tmp_path: Path) -> None:
    of_gpus = {"peak_gpu_memory_bytes": 700 * MB, "gpu_busy_share": 0.5, "gpu_energy_j": 40.0}
    section = ImageRuns(measured(tmp_path, **of_gpus))
    _, power = section.tables
    [ours] = power.ours
    assert ours["original_w"] == pytest.approx((100 / 10 + 100 / 20 + 100 / 12) / 3)
    assert ours["slim_w"] == pytest.approx((100 / 9 + 100 / 16 + 100 / 6) / 3)
    assert ours["original_memory_mb"] == 500 and ours["slim_gpu_memory_mb"] == 700
    assert ours["original_gpu_busy_pct"] == ours["slim_gpu_busy_pct"] == 50
    assert ours["original_gpu_w"] == pytest.approx(40 * (1 / 10 + 1 / 20 + 1 / 12) / 3)
    assert ours["energy_source"] == "modelled"
    [published] = [row for row in power.rows if row not in power.ours]
    assert (published["original_gpu_memory_mb"], published["slim_gpu_memory_mb"]) == (976, 978)
    times, powers = section.figures
    assert len(files.values_in(times.spec)) == len(files.values_in(powers.spec)) == 6
    assert "A.1" in times.title and "A.8" in powers.title
    assert "<svg" in times.svg and "<svg" in powers.svg


def test_runs_that_did_not_end_well_and_energy_that_nobody_metered_are_left_out(
    tmp_path: Path,
) -> None:
    section = ImageRuns(measured(tmp_path, energy_j=None, energy_low_j=None, energy_high_j=None))
    _, power = section.tables
    [ours] = power.ours
    assert ours["original_w"] is None and ours["energy_source"] is None
    assert [figure.name for figure in section.figures] == ["image_run_times"]
    failed = ImageRuns(measured(tmp_path / "failed", ended_well=False))
    assert [table.ours for table in failed.tables] == [(), ()]


def test_runs_that_wrote_something_else_are_counted(tmp_path: Path) -> None:
    measurements = measured(tmp_path)
    runs = measurements.targets[0].runs
    runs.loc[3, "output_digest"] = "11" * 32
    [ours] = ImageRuns(measurements).tables[0].ours
    assert ours["outputs"] == 2
