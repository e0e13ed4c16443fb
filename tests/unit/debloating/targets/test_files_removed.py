"""Environments without the files that no traced run used: they run, and what went is on record."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import markupsafe
import numpy as np
import pandas as pd
import pytest

from trimtab.config.groups.debloat import Debloat, Fallback, Remove
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.fallback import FILE_INDEX
from trimtab.debloating.removal import removed_paths
from trimtab.debloating.settling import ORIGINAL, settle
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.debloating.verification.verify import VerificationError, verify_environment
from trimtab.errors import UserError
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_workload
from trimtab.records.manifest import Manifest
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import FILES
from trimtab.records.usage import Usage
from trimtab.records.values import unescaped
from trimtab.records.verdict import Verdict

PROGRAM = """
import json, os, sys, markupsafe, data_of_ours
from importlib.metadata import version
print(json.dumps([markupsafe.escape("<b>"), version("markupsafe"), data_of_ours.TEXT]))
"""
PACKAGE = """
from pathlib import Path
TEXT = (Path(__file__).parent / "used.txt").read_text()
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> DebloatStage:
    """A program that uses one package and one of two files of data, and has NumPy beside these."""
    folder = tmp_path_factory.mktemp("removed")
    original = folder / "original"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", original], check=True)
    (packages,) = original.glob("lib/python3*/site-packages")
    for package in (np, markupsafe):
        source = Path(package.__file__).parent
        shutil.copytree(source, packages / source.name)
        for metadata in source.parent.glob(f"{source.name}-*.dist-info"):
            shutil.copytree(metadata, packages / metadata.name)
    shutil.copytree(Path(np.__file__).parents[1] / "numpy.libs", packages / "numpy.libs")
    ours = packages / "data_of_ours"
    ours.mkdir()
    (ours / "__init__.py").write_text(PACKAGE)
    (ours / "used.txt").write_text("used")
    (ours / "unused.txt").write_text("unused" * 1000)
    (ours / "link").symlink_to("used.txt")
    (original / "bin/never_run").write_text(f"#!{original}/bin/python\nimport markupsafe\n")
    (original / "bin/names_nothing").write_text("#!/bin/sh\n")
    (original / "share/empty").mkdir(parents=True)
    Path(os.fsdecode(bytes(original / "share") + b"/strange\xff\n")).write_text("strange")
    (folder / "program.py").write_text(PROGRAM)
    program = Workload(
        name="program", command=["python", str(folder / "program.py")],
        python=str(original / "bin/python"), workdir=str(folder),
    )  # fmt: skip
    trace_workload(program, folder / "trace", 1).write(folder / "usage.json")
    options = Debloat(name="x", remove=Remove.FILES)
    return DebloatStage("program", "here", [], [program], options, Settle(clean_runs=1, rebuilds=2))


def original_of(stage: DebloatStage) -> Path:
    return Path(str(stage.workloads[0].python)).parents[1]


@pytest.fixture(scope="module")
def slim(stage: DebloatStage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The workspace that the slim environment `env` was built in."""
    folder = tmp_path_factory.mktemp("slim")
    usage = original_of(stage).with_name("usage.json")
    with Debloating(stage, [usage], folder, libraries_stay=True) as debloating:
        debloating.write()
        debloating.build(folder / "env")
        yield folder


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def output_of(environment: Path, *words: str | Path) -> str:
    command = [environment / "bin/python", *words]
    clean = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=clean).stdout


def test_it_runs_without_what_it_does_not_use(stage: DebloatStage, slim: Path) -> None:
    original, program = original_of(stage), Path(stage.workloads[0].command[1])
    assert output_of(slim / "env", program) == output_of(original, program)
    packages = next((slim / "env").glob("lib/python3*/site-packages"))
    assert not (packages / "numpy").exists() and not (packages / "numpy.libs").exists()
    assert below(packages / "data_of_ours") <= {"__init__.py", "used.txt", "__pycache__"} | {
        f"__pycache__/{path.name}" for path in packages.glob("data_of_ours/__pycache__/*")
    }
    assert not (slim / "env/share").exists()
    # What names the environment would come back with the original's name.
    script = (slim / "env/bin/never_run").read_text()
    assert script == f"#!{slim}/env/bin/python\nimport markupsafe\n"
    assert not (slim / "env/bin/names_nothing").exists()
    # A shell would take the system's Python for a name that is not there.
    names = {path.name for path in original.glob("bin/python*")}
    assert len(names) > 1 and {path.name for path in slim.glob("env/bin/python*")} == names


def test_what_went_is_what_the_table_says(stage: DebloatStage, slim: Path) -> None:
    original = original_of(stage)
    table = read_table(slim / "files.parquet", FILES)
    table.index = pd.Index([unescaped(path) for path in table["path"]], dtype=object)
    assert set(table.index) == below(original)
    # An archive has the content of the byte code that it takes over: that stays.
    archived = PythonPrefix(original).taken_over(slim)
    assert archived and archived <= set(table.index[table["kept"]])
    gone = below(original) - below(slim / "env") - archived
    assert gone == removed_paths(slim) == set(table.index[~table["kept"]])
    files = table[table["type"] == "file"]
    assert (files["size_bytes"] == [(original / path).stat().st_size for path in files.index]).all()
    assert set(table["reason"][~table["kept"]]) == {""} and "" not in set(
        table["reason"][table["kept"]]
    )
    manifest = Manifest.read(slim / "manifest.json")
    totals = manifest.removed_files
    assert totals is not None
    removed = files[~files["kept"]]
    assert (totals.removed_files, totals.removed_bytes) == (
        len(removed),
        removed["size_bytes"].sum(),
    )
    assert totals.kept_files + totals.removed_files == len(files)
    numpy = removed[removed["package"] == "pip:numpy"]
    assert numpy["size_bytes"].sum() > 0.9 * removed["size_bytes"].sum()


def test_libraries_that_go_as_files_are_not_rewritten(slim: Path) -> None:
    manifest = Manifest.read(slim / "manifest.json")
    assert not any("numpy" in name for name in manifest.files)
    of_numpy = [each for name, each in manifest.unloaded.items() if "numpy" in name]
    assert of_numpy and all(each.disk_after_bytes == 0 for each in of_numpy)
    assert any("markupsafe" in name for name in manifest.files)


def test_what_is_missed_is_named_and_comes_back(
    stage: DebloatStage, slim: Path, tmp_path: Path
) -> None:
    [traced] = stage.workloads
    ours = "data_of_ours/unused.txt"
    code = (
        "import sys, os; from glob import glob; from pathlib import Path;"
        "[packages] = glob(sys.prefix + '/lib/python3*/site-packages');"
        f"print(len(os.path.basename(packages + '/{ours}'))); os.path.exists(packages + '/{ours}')"
    )
    none = replace(stage, debloat=replace(stage.debloat, fallback=Fallback.NONE))
    with Debloating(none, [original_of(stage).with_name("usage.json")], tmp_path) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")

    def verdict(workspace: Path, *more: str) -> Verdict:
        workload = replace(traced, command=["python", "-c", "; ".join([code, *more])])
        manifest, destination = workspace / "manifest.json", tmp_path / "verified"
        arguments = ([workload], NO_POWER_MODEL, workspace / "env", manifest, 1, destination)
        verify_environment("program", *arguments)
        return Verdict.read(destination / "verify.json")

    [missed] = verdict(tmp_path).missed_files
    assert missed.endswith(f"site-packages/{ours}")
    reads = f"print(open(packages + '/{ours}').read())"
    with pytest.raises(VerificationError, match=rf"it looked for .*{ours}, which was removed"):
        verdict(tmp_path, reads)
    assert missed in verdict(slim, reads).missed_files
    assert (slim / "env" / missed).exists()


def test_python_without_packages_has_a_place_for_the_fallback(
    stage: DebloatStage, tmp_path: Path
) -> None:
    """The traced program never looks for packages; another, which does, may miss something."""
    [workload] = stage.workloads
    bare = replace(workload, command=["python", "-I", "-S", "-c", "print(1)"])
    trace_workload(bare, tmp_path / "trace", 1).write(tmp_path / "usage.json")
    library = next(original_of(stage).glob("lib/python3*/site-packages/markupsafe/*.so"))
    usage = Usage.read(tmp_path / "usage.json")
    used = next(
        each
        for each in Usage.read(original_of(stage).with_name("usage.json")).libraries
        if each.path == str(library)
    )
    usage.model_copy(update={"libraries": [*usage.libraries, used]}).write(tmp_path / "usage.json")
    with Debloating(
        replace(stage, workloads=[bare]), [tmp_path / "usage.json"], tmp_path
    ) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")
    packages = next((tmp_path / "env").glob("lib/python3*/site-packages"))
    assert "00_trimtab_fallback.pth" in {path.name for path in packages.iterdir()}


def test_what_settling_misses_stays(stage: DebloatStage, tmp_path: Path) -> None:
    [workload] = stage.workloads
    ours = "data_of_ours/unused.txt"
    code = (
        "import sys; from glob import glob;"
        f"print(len(open(glob(sys.prefix + '/lib/python3*/site-packages/{ours}')[0]).read()))"
    )
    hasty = replace(workload, command=["python", "-c", code])  # traced as another program
    usage, environment = original_of(stage).with_name("usage.json"), tmp_path / "env"
    store = tmp_path / "store"
    options = replace(stage.debloat, fallback=Fallback.STORE, store=str(store))
    settles = replace(stage, workloads=[hasty], debloat=options)
    with Debloating(settles, [usage], tmp_path) as debloating:
        debloating.write()
        assert any(path.endswith(ours) for path in removed_paths(tmp_path))
        debloating.build(environment, ORIGINAL)
        with debloating.beside_runs():
            settle(debloating, environment)
        built = [environment.stat().st_ino]
        for _ in range(2):  # the second time there is nothing to do
            debloating.deliver(environment)
            built.append(environment.stat().st_ino)
    assert built[0] != built[1] == built[2]
    assert bytes(store) in (environment / FILE_INDEX).read_bytes()
    removed = [original_of(stage) / path for path in removed_paths(tmp_path)]
    assert not any(str(path).endswith(ours) for path in removed)
    stored = {path.name.partition("-")[0] for path in store.glob("??/*")}
    for path in removed:
        if path.is_file() and not path.is_symlink() and path.stat().st_size:
            assert hashlib.sha256(path.read_bytes()).hexdigest()[:32] in stored
    [kept] = (tmp_path / "env").glob(f"lib/python3*/site-packages/{ours}")
    assert output_of(tmp_path / "env", "-c", code) == "6000\n" and kept.stat().st_size == 6000
    totals = Manifest.read(tmp_path / "manifest.json").removed_files
    assert totals is not None
    table = read_table(tmp_path / "files.parquet", FILES)
    assert totals.kept_files == ((table["type"] == "file") & table["kept"]).sum()


def test_kept_files_need_no_table_of_their_own(stage: DebloatStage, tmp_path: Path) -> None:
    options = Debloat(name="x", remove=Remove.CODE, fallback=Fallback.NONE)
    kept = DebloatStage("program", "here", [], stage.workloads, options)
    with Debloating(kept, [original_of(stage).with_name("usage.json")], tmp_path) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")
    assert read_table(tmp_path / "files.parquet", FILES).empty
    assert Manifest.read(tmp_path / "manifest.json").removed_files is None
    assert below(original_of(stage)) <= below(tmp_path / "env")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"files_complete": False}, "not all"),
        ({"command": []}, "no program was traced"),
    ],
)
def test_an_incomplete_list_removes_nothing(
    stage: DebloatStage, tmp_path: Path, changes: dict[str, object], word: str
) -> None:
    usage = Usage.read(original_of(stage).with_name("usage.json"))
    usage.model_copy(update=changes).write(tmp_path / "usage.json")
    with pytest.raises(UserError, match=word):
        Debloating(stage, [tmp_path / "usage.json"], tmp_path)
    assert json.loads((tmp_path / "usage.json").read_text())["workload"] == "program"
