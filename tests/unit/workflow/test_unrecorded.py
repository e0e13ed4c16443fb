"""Results that no lock records are given back."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.workflow.unrecorded import forget, keep_unrecorded, keep_when_killed, put_back

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


def test_nothing_is_kept_without_dvc() -> None:
    keep_unrecorded()
    keep_when_killed()()
    assert not KEPT.exists()


@pytest.mark.parametrize("ends", ["os.kill(os.getpid(), 9)", "end()"])
def test_what_a_killed_run_leaves_is_kept(ends: str) -> None:
    Path(".dvc").mkdir()
    program = "import os; from trimtab.workflow.unrecorded import keep_when_killed as keep;"
    killed = subprocess.run(
        [sys.executable, "-c", f"{program} end = keep(); {ends}"],
    )
    assert killed.returncode == (-9 if "kill" in ends else 0)
    if killed.returncode == 0:
        assert not KEPT.exists()
        return
    while not KEPT.exists():
        os.sched_yield()
    assert (KEPT / MADE).samefile(MADE)
