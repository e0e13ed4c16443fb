"""Libraries that no run loaded: listed, and without their code where that is asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import markupsafe
import numpy as np
import pytest

from trimtab.config.groups.debloat import Debloat, Remove, StartUpOnly
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.settling import settle
from trimtab.profiling.profile import trace_workload
from trimtab.records.manifest import Manifest
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES

# NumPy is imported where the file says so: later runs, never the traced one.
TRACED = """
import json, os, markupsafe
print(json.dumps(markupsafe.escape("<b>")))
if os.path.exists("also"): import numpy; numpy.ones(9).sort()
"""
NEVER_TRACED = """
import numpy as np
matrix = np.arange(1.0, 10.0).reshape(3, 3) % 7
print(np.linalg.svd(matrix).S, np.fft.rfft(matrix), np.sort(matrix))
print(np.random.default_rng(1).random(3))
try: np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as error: print(error)
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> DebloatStage:
    """A program that loads one library, in an environment with NumPy's too."""
    folder = tmp_path_factory.mktemp("unloaded")
    original = folder / "original"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", original], check=True)
    (packages,) = original.glob("lib/python3*/site-packages")
    for package in (np, markupsafe):
        source = Path(package.__file__).parent
        shutil.copytree(source, packages / source.name)
    libraries = Path(np.__file__).parents[1] / "numpy.libs"
    shutil.copytree(libraries, packages / libraries.name)
    # Of no package: whoever starts another program than Python loads such a one.
    shutil.copy(next(libraries.glob("libgfortran*")), original / "lib/libmine.so")
    (folder / "program.py").write_text(TRACED)
    (folder / "other.py").write_text(NEVER_TRACED)
    program = Workload(
        name="program", command=["python", str(folder / "program.py")],
        python=str(original / "bin/python"), workdir=str(folder),
    )  # fmt: skip
    trace_workload(program, folder / "trace", 1).write(folder / "usage.json")
    options = Debloat(
        name="x", remove=Remove.LIBRARIES, start_up_only=StartUpOnly.REMOVE
    )  # which would have those end the program of which nothing ran
    return DebloatStage("program", "here", [], [program], options, Settle(clean_runs=2, rebuilds=2))


def folder_of(stage: DebloatStage) -> Path:
    return Path(str(stage.workloads[0].workdir))


def run(environment: Path, script: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin/python", script], env={**os.environ, **variables},
        capture_output=True, text=True, timeout=60, cwd=script.parent,
    )  # fmt: skip


def test_they_are_listed_and_kept(stage: DebloatStage, tmp_path: Path) -> None:
    kept = DebloatStage(
        "program", "here", [], stage.workloads, Debloat(name="x", remove=Remove.CODE)
    )
    with Debloating(kept, [folder_of(stage) / "usage.json"], tmp_path) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")
    manifest, root = Manifest.read(tmp_path / "manifest.json"), folder_of(stage) / "original"
    every = {str(path.relative_to(root)) for path in root.rglob("*.so*")}
    assert manifest.unloaded.keys() == every - manifest.files.keys()
    assert [Path(name).name[:9] for name in manifest.files] == ["_speedups"]
    for name, library in manifest.unloaded.items():
        blocks = (root / name).stat().st_blocks
        assert library.disk_before_bytes == library.disk_after_bytes == blocks * 512
        assert (tmp_path / "env" / name).samefile(root / name)


def test_removed_they_come_back(stage: DebloatStage, tmp_path: Path) -> None:
    folder = folder_of(stage)
    with Debloating(stage, [folder / "usage.json"], tmp_path) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")
    manifest = Manifest.read(tmp_path / "manifest.json")
    removed = manifest.unloaded.keys() & manifest.files.keys()
    assert manifest.unloaded.keys() - removed == {"lib/libmine.so"}
    before = sum(manifest.unloaded[name].disk_before_bytes for name in removed)
    after = sum(manifest.unloaded[name].disk_after_bytes for name in removed)
    assert after < before / 2
    assert after == sum((tmp_path / "env" / name).stat().st_blocks * 512 for name in removed)
    assert len(read_table(tmp_path / "libraries.parquet", LIBRARIES)) == 1  # what was loaded
    record = tmp_path / "calls.jsonl"
    slim = run(tmp_path / "env", folder / "other.py", TRIMTAB_FALLBACK_RECORD=str(record))
    original = run(folder / "original", folder / "other.py")
    assert (slim.returncode, slim.stdout, slim.stderr) == (0, original.stdout, original.stderr)
    assert {Path(call.library).name[:12] for call in read_removed_calls(record)} >= {
        "libscipy_ope", "_multiarray_", "_pocketfft_u"
    }  # fmt: skip
    strict = run(tmp_path / "env", folder / "other.py", TRIMTAB_FALLBACK="strict")
    assert strict.returncode == 70
    assert run(tmp_path / "env", folder / "program.py", TRIMTAB_FALLBACK="strict").returncode == 0


def test_what_settling_loads_is_kept(stage: DebloatStage, tmp_path: Path) -> None:
    folder = folder_of(stage)
    (folder / "also").touch()
    try:
        with Debloating(stage, [folder / "usage.json"], tmp_path) as debloating:
            debloating.write()
            debloating.build(tmp_path / "env")
            settling = settle(debloating, tmp_path / "env")
        assert settling.settled and settling.builds > 1 and settling.missed
        strict = run(tmp_path / "env", folder / "program.py", TRIMTAB_FALLBACK="strict")
        assert strict.returncode == 0, strict.stderr
    finally:
        (folder / "also").unlink()
