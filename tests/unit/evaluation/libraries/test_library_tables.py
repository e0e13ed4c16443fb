"""All libraries, the core library, the sizes and each library, against sums made by hand."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.by_library import ByLibrary
from trimtab.evaluation.libraries.core_library import CoreLibrary
from trimtab.evaluation.libraries.libraries_total import LibrariesTotal
from trimtab.evaluation.libraries.sizes import LibrarySizes
from trimtab.evaluation.libraries.whole_environment import WholeEnvironment
from trimtab.evaluation.report.section import ReportSection
from trimtab.evaluation.report.tables import Row, Table, is_published
from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.manifest import Manifest, UnloadedLibrary


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    return load(files.write_experiment(tmp_path))


def ours(table: Table) -> list[Row]:
    return [row for row in table.rows if not is_published(row)]


def test_the_total_adds_up_all_libraries(measurements: Measurements) -> None:
    (row,) = ours(LibrariesTotal(measurements).tables[0])
    assert (row["libraries"], row["libraries_debloated"], row["functions"]) == (4, 3, 1000)
    assert row["file_size_mb"] == 16.0
    assert row["file_size_reduction_pct"] == 62.5  # 16 -> 6 MB
    assert row["cpu_code_mb"] == 5.1
    assert row["cpu_code_reduction_pct"] == pytest.approx(100 * (5.1 - 0.75) / 5.1)
    assert row["functions_reduction_pct"] == pytest.approx(89.1)  # 1000 -> 109
    assert row["source"] == "measured"


def test_the_whole_environment_and_what_no_run_loaded(tmp_path: Path) -> None:
    inputs = files.write_experiment(tmp_path)
    assert not WholeEnvironment(load(inputs)).applies  # it was not built
    folder = inputs.files["debloat"][0].parent
    BuiltEnvironment(
        target="t", before_bytes=100_000_000, after_bytes=80_000_000, shared_bytes=30_000_000,
        linked={},
    ).write(folder / "environment.json")  # fmt: skip
    CompressedEnvironment(
        target="t", compression="zstd", before_bytes=40_000_000, after_bytes=25_000_000
    ).write(folder / "compressed.json")
    unloaded = {
        "a.so": UnloadedLibrary(3_000_000, 1_000_000),
        "b.so": UnloadedLibrary(500_000, 500_000),
    }
    manifest = Manifest.read(folder / "manifest.json")
    manifest.model_copy(update={"unloaded": unloaded}).write(folder / "manifest.json")
    (row,) = WholeEnvironment(load(inputs)).tables[0].rows
    assert (row["before_mb"], row["after_mb"], row["shared_mb"]) == (100, 80, 30)
    assert (row["compressed_before_mb"], row["compressed_after_mb"]) == (40, 25)
    assert (row["unloaded"], row["unloaded_before_mb"], row["unloaded_after_mb"]) == (2, 3.5, 1.5)
    disk = [
        sum(each[key] for each in files.LIBRARY_ROWS) / 1e6
        for key in ("disk_before_bytes", "disk_after_bytes")
    ]
    assert [row["loaded_before_mb"], row["loaded_after_mb"]] == disk


@pytest.mark.parametrize("section", [LibrariesTotal, CoreLibrary])
def test_published_rows_stand_apart_and_name_their_place(
    measurements: Measurements, section: type[ReportSection]
) -> None:
    (table,) = section(measurements).tables
    theirs = [row for row in table.rows if is_published(row)]
    assert len(theirs) == 10
    assert len(table.rows) == 11
    assert all("Systems, Table" in str(row["published_in"]) for row in theirs)
    assert next(iter(table.groups)) == ""
    assert [len(rows) for rows in table.groups.values()] == [1, 10]


def test_without_gpu_code_its_columns_are_unknown_and_not_zero(measurements: Measurements) -> None:
    for table in (LibrariesTotal(measurements).tables[0], CoreLibrary(measurements).tables[0]):
        (row,) = ours(table)
        keys = ("gpu_code_mb", "gpu_code_reduction_pct", "elements", "elements_reduction_pct")
        assert [row[key] for key in keys] == [None] * 4
        assert "No GPU code in this environment" in table.caption
    shown = {column.key for column in ByLibrary(measurements).tables[0].shown_columns}
    assert "functions" in shown and "elements" not in shown


def test_gpu_code_adds_up_over_the_libraries(tmp_path: Path) -> None:
    measurements = load(files.write_gpu_experiment(tmp_path))
    row, _, without = ours(LibrariesTotal(measurements).tables[0])
    assert (row["gpu_code_mb"], row["gpu_code_reduction_pct"]) == (10, 93)
    assert (row["elements"], row["elements_reduction_pct"]) == (100, 96)
    reasons = ("elements_architecture", "elements_unused", "elements_ptx")
    assert [row[key] for key in reasons] == [85, 10, 1]
    assert without["gpu_code_mb"] is None
    assert "No GPU code" not in LibrariesTotal(measurements).tables[0].caption
    table = ByLibrary(measurements).tables[0]
    libraries = [r for r in table.rows if r["name"] == "mobilenet_train"]
    assert sum(int(str(r["elements"] or 0)) for r in libraries) == 100
    assert {r["elements"] for r in libraries} == {80, 20, None}
    assert "elements" in {column.key for column in table.shown_columns}


def test_the_core_library_is_shown_though_another_is_larger(tmp_path: Path) -> None:
    row = ours(CoreLibrary(load(files.write_gpu_experiment(tmp_path))).tables[0])[0]
    assert row["library"] == "lib/libtorch_cuda.so"
    assert (row["file_size_mb"], row["file_size_reduction_pct"]) == (12, 75)
    assert (row["elements"], row["elements_reduction_pct"]) == (80, 96.25)


def test_of_an_unknown_framework_it_is_the_largest_library(measurements: Measurements) -> None:
    (row,) = ours(CoreLibrary(measurements).tables[0])
    assert row["library"] == "lib/libbig.so"
    assert (row["file_size_mb"], row["file_size_reduction_pct"]) == (8.0, 75.0)
    assert (row["cpu_code_mb"], row["cpu_code_reduction_pct"]) == (4.0, 90.0)
    assert (row["functions"], row["functions_reduction_pct"]) == (900, 90.0)


def test_sizes_are_told_for_all_libraries_and_for_those_debloated(
    measurements: Measurements,
) -> None:
    sizes = {
        (row["kind"], row["scope"]): (row["before_mb"], row["after_mb"], row["reduction_pct"])
        for row in LibrarySizes(measurements).tables[0].rows
    }
    assert sizes["file system", "all libraries"] == (16, 6, 62.5)
    assert sizes["file system", "debloated"] == (15, 5, pytest.approx(200 / 3))
    assert sizes["compressed (zstd)", "all libraries"] == (8, 1.75, 78.125)
    assert sizes["resident", "lenet5_train"] == (200, 50, 75)
    assert len(sizes) == 7


def test_holes_show_in_the_file_system_and_not_in_the_length(tmp_path: Path) -> None:
    row = files.library("lib/libpunched.so", (1_000_000, 1_000_000))
    row |= {"disk_after_bytes": 250_000}
    debloat = files.write_debloat(tmp_path / "d", libraries=[row])
    measurements = load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))
    assert LibrariesTotal(measurements).tables[0].rows[0]["file_size_reduction_pct"] == 75
    table = LibrarySizes(measurements).tables[0]
    found = {r["kind"]: r["reduction_pct"] for r in table.rows if r["scope"] == "debloated"}
    assert (found["file length"], found["file system"]) == (0, 75)


def test_the_libraries_rank_by_what_they_saved_and_add_up_to_the_total(
    measurements: Measurements,
) -> None:
    rows = ByLibrary(measurements).tables[0].rows
    assert [(r["rank"], r["library"], r["saved_mb"]) for r in rows] == [
        (1, "lib/libbig.so", 6.0),
        (2, "lib/libmid.so", 3.0),
        (3, "lib/libdata.so", 1.0),
        (4, "lib/libsmall.so", 0.0),
    ]
    (total,) = ours(LibrariesTotal(measurements).tables[0])
    for key in ("file_size_mb", "cpu_code_mb", "functions"):
        assert sum(float(str(row[key])) for row in rows) == pytest.approx(total[key])
    assert [row["reason"] for row in rows] == ["", "", "", "no .eh_frame"]


def test_a_library_without_functions_has_no_reduction_of_them(measurements: Measurements) -> None:
    (row,) = (r for r in ByLibrary(measurements).tables[0].rows if r["library"] == "lib/libdata.so")
    assert row["functions"] == 0
    assert row["functions_reduction_pct"] is None
    assert row["cpu_code_reduction_pct"] is None
