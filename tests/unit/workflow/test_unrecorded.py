"""Results that no lock records are given back."""

import shutil
from pathlib import Path

import pytest

from trimtab.workflow.unrecorded import forget, keep_unrecorded, put_back

MADE = Path("results/profile/one/here/usage.json")
RECORD = Path(".snakemake/metadata/record")
KEPT = Path(".snakemake/unrecorded")


@pytest.fixture(autouse=True)
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (MADE, RECORD, Path("results/debloat/one/here/env/bin/python")):
        path.parent.mkdir(parents=True)
        path.write_text(path.name)


def test_what_was_deleted_or_replaced_comes_back() -> None:
    Path(".dvc").mkdir()
    keep_unrecorded()
    assert MADE.stat().st_nlink == 2 and not list(KEPT.rglob("python"))
    shutil.rmtree("results")
    RECORD.write_text("another")
    put_back()
    assert MADE.read_text() == "usage.json" and RECORD.read_text() == "record"
    forget()
    assert MADE.exists() and not KEPT.exists()
    put_back()


def test_nothing_is_kept_without_dvc_and_within_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_unrecorded()
    Path(".dvc").mkdir()
    monkeypatch.setenv("DVC_STAGE", "pipeline")
    keep_unrecorded()
    assert not KEPT.exists()
