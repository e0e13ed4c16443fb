"""A slim environment imports packages from its archive, and has no files of their byte code."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import markupsafe
import pytest

from trimtab.cli.doctor import missing
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.fallback import ARCHIVE
from trimtab.debloating.settling import ORIGINAL, settle
from trimtab.debloating.verification.environment_digests import check_intact
from trimtab.errors import TrimtabError
from trimtab.profiling.profile import trace_workload
from trimtab.records.used import ByteCodeRead

MODULES = [f"part{number}" for number in range(40)]
PROGRAM = f"""
import importlib, markupsafe
parts = [importlib.import_module("ours." + name) for name in {MODULES}]
print(sum(part.VALUE for part in parts), markupsafe.escape("<"))
print(all(part.__cached__.endswith(".pyc") for part in parts), parts[3].debug)
"""
READS = "import ours.part3; print(open(ours.part3.__cached__, 'rb').read(4) != b'')"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> DebloatStage:
    """A program that imports a package of 40 modules."""
    folder = tmp_path_factory.mktemp("archived")
    original = folder / "original"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", original], check=True)
    (packages,) = original.glob("lib/python3*/site-packages")
    shutil.copytree(Path(markupsafe.__file__).parent, packages / "markupsafe")
    (packages / "ours").mkdir()
    (packages / "ours/__init__.py").write_text("")
    for number, name in enumerate(MODULES):
        source = packages / "ours" / f"{name}.py"
        source.write_text(f"VALUE = {number}\ndebug = __debug__\n")
        os.utime(source, (10**9, 10**9))
    subprocess.run([original / "bin/python", "-m", "compileall", "-q", packages], check=True)
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


@pytest.fixture
def slim(stage: DebloatStage, tmp_path: Path) -> Iterator[Path]:
    """The folder that the slim environment `env` was built in."""
    usage = original_of(stage).with_name("usage.json")
    with Debloating(stage, [usage], tmp_path, libraries_stay=True) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")
        yield tmp_path


def output_of(environment: Path, *words: str | Path, before: tuple[str | Path, ...] = ()) -> str:
    command = [*before, environment / "bin/python", *words]
    clean = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=clean).stdout


def byte_code(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("env/lib/python3*/site-packages/ours/**/*.pyc")}


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_it_opens_one_file_instead_of_many(stage: DebloatStage, slim: Path) -> None:
    program = stage.workloads[0].command[1]
    calls = []
    for environment in (original_of(stage), slim / "env"):
        record = slim / "calls"
        traced = ("strace", "-f", "-o", record, "-e", "trace=%file,%desc")
        assert output_of(environment, program, before=traced) == "780 &lt;\nTrue True\n"
        calls.append([line for line in record.read_text().splitlines() if "/ours" in line])
    opened = [line for line in calls[1] if re.search(r'open.*\.pyc"', line)]
    assert not opened and len(calls[1]) < 0.75 * len(calls[0])
    assert not byte_code(slim)


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_a_start_makes_few_calls_more(
    stage: DebloatStage, slim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    calls = []
    for environment in (original_of(stage), slim / "env"):
        record = slim / "calls"
        output_of(environment, "-c", "pass", before=("strace", "-f", "-o", record))
        calls.append(record.read_text().splitlines())
    assert len(calls[1]) - len(calls[0]) <= 45
    assert sum(".pth" in line for line in calls[1]) == 1  # `site` of a venv reads them twice


def test_what_the_archive_has_not_comes_back(stage: DebloatStage, slim: Path) -> None:
    program = stage.workloads[0].command[1]
    assert output_of(slim / "env", "-O", program) == "780 &lt;\nTrue False\n"
    (source,) = (slim / "env").glob("lib/python3*/site-packages/ours/part3.py")
    source.write_text("VALUE = 1003\ndebug = None\n")
    assert output_of(slim / "env", program) == "1780 &lt;\nTrue None\n"
    assert output_of(slim / "env", "-c", READS) == "True\n"


@pytest.mark.parametrize("damage", ["deleted", "cut"])
def test_without_the_archive_programs_run_with_the_fallback(
    stage: DebloatStage, slim: Path, damage: str
) -> None:
    archive = slim / "env" / ARCHIVE
    archive.unlink() if damage == "deleted" else os.truncate(archive, 1000)
    assert output_of(slim / "env", stage.workloads[0].command[1]) == "780 &lt;\nTrue True\n"
    assert byte_code(slim)  # it came back


def test_missed_byte_code_stays_a_file(stage: DebloatStage, tmp_path: Path) -> None:
    [workload] = stage.workloads
    reads = replace(stage, workloads=[replace(workload, command=["python", "-c", READS])])
    usage = original_of(stage).with_name("usage.json")
    with Debloating(reads, [usage], tmp_path) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env", ORIGINAL)
        with debloating.beside_runs():
            settle(debloating, tmp_path / "env")
        debloating.deliver(tmp_path / "env")
    [kept] = byte_code(tmp_path)
    assert kept.startswith("part3.")
    names = {Path(path).name for path in ByteCodeRead.read(tmp_path / "byte_code.json").paths}
    assert kept not in names and kept.replace("part3", "part4") in names
    assert output_of(tmp_path / "env", workload.command[1]) == "780 &lt;\nTrue True\n"


def test_a_changed_archive_is_seen(stage: DebloatStage, slim: Path) -> None:
    check_intact(slim, original_of(stage), slim / "env")
    archive = slim / "env" / ARCHIVE
    text = bytearray(archive.read_bytes())
    text[-1] ^= 1
    archive.write_bytes(text)
    with pytest.raises(TrimtabError, match=str(ARCHIVE)):
        check_intact(slim, original_of(stage), slim / "env")
