"""Files before and after: each byte is in one place, whichever way they are grouped."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import experiment_files as files
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.files.by_group import FilesByGroup
from trimtab.evaluation.files.fates import LOADED, NOT_LOADED, fates, totals
from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.records.manifest import DebloatedFile, Manifest, UnloadedLibrary

DIGEST = "00" * 32


def file(
    path: str, size: int, kind: str = "other", *, kept: bool = True, **more: Any
) -> dict[str, Any]:
    row = {"target": "lenet5_train", "hardware": files.HARDWARE, "path": path, "type": "file",
           "package": "", "kind": kind, "group": "", "size_bytes": size, "counts": True,
           "kept": kept, "reason": "used" if kept else ""}  # fmt: skip
    return row | more


ROWS = [
    file("lib/libbig.so", 8_000_000, "shared libraries", package="pip:big"),
    file("lib/unloaded.so", 5_000_000, "shared libraries", reason="linked"),
    file("lib/gone.so", 30_000_000, "shared libraries", kept=False, package="pip:big"),
    file("a.py", 2_000_000, "Python modules"),
    file("b.py", 3_000_000, "Python modules", kept=False, package="dpkg:b"),
    file("again.py", 0, "Python modules", kept=False, counts=False),
    file("link", 0, "", type="link", counts=False),
]
SLIM = {"lib/libbig.so": 1_500_000, "lib/unloaded.so": 1_000_000}


def target() -> DebloatedTarget:
    made = files.target_of(files.LIBRARY_ROWS)
    manifest = Manifest.model_construct(
        hardware=files.HARDWARE, workloads=["w"], gpus=[],
        files={path: DebloatedFile(DIGEST, DIGEST, 9, size) for path, size in SLIM.items()},
        unloaded={path: UnloadedLibrary(9, 0) for path in ("lib/unloaded.so", "lib/gone.so")},
    )  # fmt: skip
    return replace(made, manifest=manifest, files=pd.DataFrame(ROWS))


def section() -> FilesByGroup:
    return FilesByGroup(Measurements(files.inputs([], []), {"debloat": (target(),)}))


def test_what_becomes_of_each_file() -> None:
    rows = fates(target()).set_index("path")
    assert list(rows.index) == [row["path"] for row in ROWS if row["counts"]]
    assert dict(rows["kind"]) == {
        "lib/libbig.so": LOADED, "lib/unloaded.so": NOT_LOADED, "lib/gone.so": NOT_LOADED,
        "a.py": "Python modules", "b.py": "Python modules",
    }  # fmt: skip
    mb = rows[["went_bytes", "inside_bytes", "after_bytes"]] / 1e6
    assert mb.loc["lib/libbig.so"].tolist() == [0, 6.5, 1.5]
    assert mb.loc["lib/gone.so"].tolist() == [30, 0, 0]
    assert mb.loc["a.py"].tolist() == [0, 0, 2]


def test_the_tables() -> None:
    total, kinds, packages, reasons, large = section().tables
    (row,) = total.rows
    assert (row["files"], row["files_left"], row["before_mb"], row["after_mb"]) == (5, 3, 48, 4.5)
    assert (row["went_mb"], row["inside_mb"]) == (33, 10.5)
    assert [(row["kind"], row["before_mb"], row["after_mb"]) for row in kinds.rows] == [
        (NOT_LOADED, 35, 1), (LOADED, 8, 1.5), ("Python modules", 5, 2),
    ]  # fmt: skip
    assert [(row["package"], row["before_mb"]) for row in packages.rows] == [
        ("pip:big", 38), ("of no package", 7), ("dpkg:b", 3),
    ]  # fmt: skip
    assert [(row["reason"], row["after_mb"]) for row in reasons.rows] == [
        ("used", 3.5),
        ("linked", 1),
    ]
    assert [(row["path"], row["went_mb"]) for row in large.rows] == [("lib/gone.so", 30)]


def test_what_the_page_and_the_metrics_have() -> None:
    made = section()
    assert made.metrics()["targets"]["t"]["all_files_after_mb"] == 4.5
    (figure,) = made.figures
    drawn = files.values_in(figure.spec)
    assert sum(row["mb"] for row in drawn) == 48
    assert figure.svg.startswith("<svg") and NOT_LOADED in figure.svg
    assert len(list(made.page())) == 6


@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.booleans(), st.sampled_from("abc"), st.floats(0, 1)),
        min_size=1,
        max_size=30,
    )
)
def test_the_parts_add_up(given: list[tuple[int, bool, str, float]]) -> None:
    rows = [file(str(place), size, kind, kept=kept, reason=kind if kept else "")
            for place, (size, kept, kind, _) in enumerate(given)]  # fmt: skip
    slim = {
        str(place): DebloatedFile(DIGEST, DIGEST, size, int(size * left))
        for place, (size, _, _, left) in enumerate(given)
    }
    made = target()
    manifest = made.manifest.model_copy(update={"files": slim, "unloaded": {}})
    made = replace(made, manifest=manifest, files=pd.DataFrame(rows))
    found = fates(made)
    parts = found[["went_bytes", "inside_bytes", "after_bytes"]]
    assert (parts.sum(axis=1) == found["before_bytes"]).all() and (parts >= 0).all().all()
    shown = FilesByGroup(Measurements(files.inputs([], []), {"debloat": (made,)})).tables
    for table in shown[1:3]:
        for key in ("files", "files_left", "before_mb", "after_mb"):
            assert sum(float(row[key] or 0) for row in table.rows) == pytest.approx(
                float(totals(found)[key] or 0)
            )


def test_an_experiment_with_files_is_written(tmp_path: Path) -> None:
    inputs = files.inputs(
        [files.write_profile(tmp_path / "profile")],
        [files.write_debloat(tmp_path / "debloat", files=ROWS)],
    )
    report = evaluate(inputs, tmp_path / "out").read_text()
    assert "Why files stay" in report and "The whole environment" in report
    assert (tmp_path / "out/tables/large_files_gone.csv").read_text().count("\n") == 2
    assert (tmp_path / "out/figures/files_by_kind.svg").is_file()


def test_where_all_files_stay_there_is_no_section(tmp_path: Path) -> None:
    assert not FilesByGroup(load(files.write_experiment(tmp_path))).applies
