"""The rule save_start: snapshots of the programs of a verified environment, where a YAML asks."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import NOTHING_TO_DO, Project, rules_in

from trimtab.files import read_json
from trimtab.records.imports.saved_starts import SavedStarts

CELL = "results/debloat/tiny/test_machine"
SNAKEMAKE = ("snakemake", "--cores", "2")


def asking(how: str) -> tuple[str, ...]:
    return ("--config", f'overrides=["debloat.start={how}"]')


@pytest.fixture
def saved(finished: Project, tmp_path: Path) -> Iterator[Path]:
    """The folder of a target whose start was saved; at the end it is as before."""
    folder = finished.folder / CELL
    measured = [path for path in folder.iterdir() if path.is_file()]
    for path in measured:  # which other tests compare with what was made of it
        shutil.copy2(path, tmp_path)
    finished.succeed(*SNAKEMAKE, f"{CELL}/start.json", *asking("snapshot"))
    yield folder
    finished.succeed(*SNAKEMAKE, f"{CELL}/start.json", *asking("usual"))
    assert SavedStarts.read(folder / "start.json").workloads == []
    assert not (folder / "env/trimtab/snapshots").exists()
    (folder / "start.json").unlink()
    for path in measured:
        shutil.copy2(tmp_path / path.name, path)
    assert NOTHING_TO_DO in finished.succeed(*SNAKEMAKE, "-n", "all")


def test_only_starts_are_saved_where_all_else_is_there(finished: Project) -> None:
    said = finished.succeed(*SNAKEMAKE, "-n", "all", *asking("snapshot"))
    after = {"resolved_config", "evaluate_experiment", "headlines"}
    assert rules_in(said) == {"save_start", *after}
    assert said.count("\nrule save_start:") == 2
    said = finished.succeed(*SNAKEMAKE, "-n", "debloat", *asking("snapshot"))
    assert "save_start" in rules_in(said)


def test_nothing_that_measures_the_environment_sees_a_snapshot(
    saved: Path, finished: Project
) -> None:
    [start] = SavedStarts.read(saved / "start.json").workloads
    assert start.workload == "tiny" and not list(saved.glob("starts"))
    assert start.making_s is not None and start.making_s > sum(map(sum, start.pairs_s))
    snapshots = saved / "env/trimtab/snapshots"
    # How much the start of so small a program takes less depends on the machine.
    assert snapshots.exists() == bool(start.size_bytes) != ("too little" in start.reason)
    if snapshots.exists():  # it is for starts that a person types, without what Snakemake sets
        guards = (snapshots / "guards").read_bytes()
        assert b"\0eTRIMTAB_" not in guards
        assert os.environ.get("TMPDIR", "/tmp") != "/tmp" or b"\0nTMPDIR\0" in guards
    before = read_json(saved / "compressed.json")["after_bytes"]
    for rule, file in (("verify", "verify"), ("weigh", "compressed")):
        snapshots.mkdir(exist_ok=True)
        (snapshots / "more").write_bytes(random.randbytes(1 << 20))
        forced = ("--forcerun", f"{rule}_environment")
        finished.succeed(*SNAKEMAKE, f"{CELL}/{file}.json", *forced)
        assert not snapshots.exists()
    assert abs(read_json(saved / "compressed.json")["after_bytes"] - before) < 1000
    said = finished.succeed(*SNAKEMAKE, "-n", f"{CELL}/start.json", *asking("snapshot"))
    assert rules_in(said) == {"save_start"}
