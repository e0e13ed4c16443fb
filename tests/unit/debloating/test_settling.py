"""Settling a real environment: what its runs miss is kept until none miss anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.config.groups.output import Output
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.settling import debloat_and_settle, settle
from trimtab.errors import TrimtabError
from trimtab.profiling.profile import trace_workload
from trimtab.records.manifest import Manifest
from trimtab.records.misses.settling import Settling

LIBRARY = r"""
#define LONG(name) __attribute__((noinline, aligned(4096))) int name(int x) { \
  __asm__ volatile(".fill 65536, 1, 0x90"); return x + 1; }
LONG(f0) LONG(f1) LONG(f2) LONG(f3) LONG(f4) LONG(last)
"""
# The functions that a run calls stand in a file, a word a run; the last word goes on for ever.
PROGRAM = """
import ctypes, os, sys
library = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libmine.so"))
ctypes.CDLL(os.path.join(sys.prefix, "lib", "libother.so")).f0(1)
runs = open("schedule").read().split()
if len(runs) > 1 and sys.prefix.endswith(("/env", ".settling")):
    open("schedule", "w").write(" ".join(runs[1:]))
for digit in runs[0]:
    if digit.isdigit(): getattr(library, f"f{digit}")(2)
    elif digit == "x" or sys.prefix.endswith("/env"): os._exit(3)
"""


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("settling")
    prefix = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (folder / "mine.c").write_text(LIBRARY)
    for name in ("libmine.so", "libother.so"):
        command = ["gcc", "-O1", "-shared", "-fPIC", "-o", prefix / "lib" / name]
        subprocess.run([*command, folder / "mine.c"], check=True)
    (folder / "program.py").write_text(PROGRAM)
    return prefix


@pytest.fixture
def stage(venv: Path, tmp_path: Path) -> DebloatStage:
    """The program, traced in `tmp_path` while it calls f0."""
    (tmp_path / "schedule").write_text("0")
    mine = Workload(
        name="mine",
        command=["python", str(venv.parent / "program.py")],
        python=str(venv / "bin/python"),
        workdir=str(tmp_path),
        output=Output(),
    )
    usage = trace_workload(mine, tmp_path / "trace", 1)
    usage.write(tmp_path / "usage.json")
    options = Debloat(name="x", remove=Remove.CODE, share="copy", minimum_hole_bytes=4096)
    return DebloatStage("mine", "here", [], [mine], options, Settle(clean_runs=2, rebuilds=2))


def settled(stage: DebloatStage, folder: Path, runs: str) -> Settling:
    (folder / "schedule").write_text(runs)
    environment = folder / "env"
    with Debloating(stage, [folder / "usage.json"], folder) as debloating:
        debloating.write()
        debloating.build(environment)
        result = settle(debloating, environment)
    assert Settling.read(folder / "settling.json") == result
    left = {path.name for path in folder.iterdir()} & {"settling", "libraries"}
    assert left == set()
    return result


def names(settling: Settling) -> list[str]:
    return [miss.name for miss in settling.missed]


def strict_run(stage: DebloatStage, folder: Path, functions: str) -> int:
    """The exit code of a run in the slim environment that calls `functions`."""
    (folder / "schedule").write_text(functions)
    command = [folder / "env/bin/python", stage.workloads[0].command[1]]
    environment = {**os.environ, "TRIMTAB_FALLBACK": "strict"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode


def test_what_misses_nothing_is_settled_at_once(stage: DebloatStage, tmp_path: Path) -> None:
    settling = settled(stage, tmp_path, "0")
    assert settling.settled and settling.builds == 1 and settling.missed == []
    assert len({run.condition for run in settling.runs}) == len(settling.runs) == 2


def test_what_is_missed_is_kept_and_the_rest_is_not_made_anew(
    stage: DebloatStage, tmp_path: Path
) -> None:
    """Misses in the second run; one without news, in the build that keeps them, settles it."""
    (tmp_path / "schedule").write_text("0 012 02 0")
    environment, other = tmp_path / "env", tmp_path / "spans/lib__libother.so.json"
    with Debloating(stage, [tmp_path / "usage.json"], tmp_path) as debloating:
        debloating.write()
        debloating.build(environment)
        before = Manifest.read(tmp_path / "manifest.json").files
        written_ns = other.stat().st_mtime_ns
        settling = settle(debloating, environment)
    assert settling.settled and settling.builds == 2
    assert names(settling) == ["f1", "f2"]
    assert [(run.build, run.misses) for run in settling.runs] == [
        (0, []), (0, [0, 1]), (0, [1]), (1, [])
    ]  # fmt: skip
    after = Manifest.read(tmp_path / "manifest.json").files
    assert after["lib/libmine.so"] != before["lib/libmine.so"]
    assert after["lib/libother.so"] == before["lib/libother.so"]
    assert other.stat().st_mtime_ns == written_ns
    assert strict_run(stage, tmp_path, "0012") == 0
    assert strict_run(stage, tmp_path, "3") != 0


def test_what_never_settles_ends_and_keeps_all_that_was_missed(
    stage: DebloatStage, tmp_path: Path
) -> None:
    settling = settled(stage, tmp_path, "1 1 2 3 4")
    assert not settling.settled and settling.builds == 3
    assert settling.why_not == "something was missed in 4 runs"
    assert names(settling) == ["f1", "f2", "f3"]
    assert strict_run(stage, tmp_path, "0123") == 0


def test_a_new_miss_in_the_last_run_has_it_built_again(stage: DebloatStage, tmp_path: Path) -> None:
    stage.settle = Settle(clean_runs=2, rebuilds=5)
    settling = settled(stage, tmp_path, "1 1 2 2 2 2")
    assert settling.settled
    assert [(run.build, run.misses) for run in settling.runs] == [
        (0, [0]), (0, [0]), (1, [1]), (1, [1]), (2, [])
    ]  # fmt: skip


def test_a_slim_run_that_ends_in_another_way_is_an_error(
    stage: DebloatStage, tmp_path: Path
) -> None:
    with pytest.raises(TrimtabError, match=r"removed code put back.*exit code 3"):
        settled(stage, tmp_path, "0e")
    assert not (tmp_path / "settling.json").exists()


def test_a_program_that_the_condition_fails_is_none(stage: DebloatStage, tmp_path: Path) -> None:
    assert settled(stage, tmp_path, "0 0x").settled


def test_where_nothing_can_be_told_nothing_is_run(stage: DebloatStage, tmp_path: Path) -> None:
    stage.settle = Settle(clean_runs=0)
    debloat_and_settle(stage, [tmp_path / "usage.json"], tmp_path)
    settling = Settling.read(tmp_path / "settling.json")
    assert (settling.runs, settling.why_not) == ([], "no run was asked for")
    stage.debloat = Debloat(name="x", remove=Remove.CODE, mode="punch")
    debloat_and_settle(stage, [tmp_path / "usage.json"], tmp_path)
    assert "punch" in Settling.read(tmp_path / "settling.json").why_not


def test_the_stage_leaves_no_environment(stage: DebloatStage, tmp_path: Path) -> None:
    """The rule's: its environment is built by another."""
    (tmp_path / "schedule").write_text("0")
    before = {path.name for path in tmp_path.iterdir()}
    debloat_and_settle(stage, [tmp_path / "usage.json"], tmp_path)
    assert Settling.read(tmp_path / "settling.json").settled
    assert {path.name for path in tmp_path.iterdir()} - before == {
        "byte_code.json", "files.parquet", "libraries", "libraries.parquet", "manifest.json",
        "settling.json", "spans", "stage.json", "used.json",
    }  # fmt: skip
