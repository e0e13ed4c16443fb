"""Roots of file systems: what of them goes, and programs that run in what is left."""

import os
from pathlib import Path

import pytest
from machine_root import root_of_programs

from trimtab.config.groups.debloat import Debloat, Files
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.removal import removed_paths
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.targets.root_folder import RootFolder
from trimtab.debloating.verification.verify import VerificationError, verify_environment
from trimtab.errors import UserError
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import with_files_followed
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.files import read_file_trace
from trimtab.records.usage import Usage, UsedFile
from trimtab.records.verdict import Verdict

SCRIPT = """#!/usr/bin/env sh
pwd
ls /srv
cat /srv/link/hello
cat etc/motd 2>/dev/null || echo none
"""
PROGRAMS = ("sh", "env", "ls", "cat", "sort")


def workload_in(root: Path, *command: str) -> Workload:
    return Workload(
        name="program", command=list(command), workdir="/work/here",
        target=TargetConfig(kind="root_folder", location=str(root)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a script in it, beside the usage.json of a run."""
    folder = tmp_path_factory.mktemp("root_folder")
    root = folder / "root"
    root_of_programs(root, PROGRAMS)
    for name in ("srv/folder", "work/here", "var/empty", "opt/unused"):
        (root / name).mkdir(parents=True)
    (root / "srv/folder/hello").write_text("hello\n")
    (root / "srv/folder/unread").write_text("x" * 1000)
    (root / "srv/link").symlink_to("/srv/folder")
    (root / "opt/unused/data").write_text("y" * 5000)
    (root / "run.sh").write_text(SCRIPT)
    (root / "run.sh").chmod(0o755)
    workload = workload_in(root, "/run.sh")
    program = with_files_followed(program_of(workload, folder / "out"), folder / "files.jsonl")
    try:
        run = measure_run(
            program, condition="traced_files", repeat=0, hardware=NO_POWER_MODEL, log_dir=folder
        )
    except UserError as error:
        pytest.skip(f"no root can be entered here: {error}")
    assert not run.failure
    trace = read_file_trace(folder / "files.jsonl")
    assert trace.complete
    files = [UsedFile(use.path, use.real_path, sorted(use.uses)) for use in trace.files]
    usage = Usage(
        workload="program", command=["/run.sh"], complete=True, files=files, files_complete=True
    )
    usage.write(folder / "usage.json")
    return folder


@pytest.fixture(scope="module")
def slim(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    destination = tmp_path_factory.mktemp("slim")
    options = Debloat(name="x", files=Files.REMOVE)
    workloads = [workload_in(folder / "root", "/run.sh")]
    stage = DebloatStage("program", "here", [], workloads, options)
    with Debloating(stage, [folder / "usage.json"], destination) as debloating:
        debloating.write()
        debloating.build(destination / "env")
    return destination


def verify(folder: Path, slim: Path, destination: Path, *command: str) -> Verdict:
    workload = workload_in(folder / "root", *command)
    verify_environment(
        "program", [workload], NO_POWER_MODEL, slim / "env", slim / "manifest.json", 1, destination
    )
    return Verdict.read(destination / "verify.json")


def test_it_runs_in_what_is_left(folder: Path, slim: Path, tmp_path: Path) -> None:
    assert verify(folder, slim, tmp_path, "/run.sh").missed_files == []
    gone = removed_paths(slim)
    assert {"srv/folder/unread", "opt", "opt/unused/data", "usr/bin/sort"} <= gone
    assert {"work/here", "srv/link", "srv/folder/hello", "tmp", "proc", "etc/passwd"}.isdisjoint(
        gone
    )
    there = {str(path.relative_to(slim / "env")) for path in (slim / "env").rglob("*")}
    before = {str(path.relative_to(folder / "root")) for path in (folder / "root").rglob("*")}
    assert there == before - gone
    assert os.readlink(slim / "env/srv/link") == "/srv/folder"


def test_what_is_missed_inside_is_named(folder: Path, slim: Path, tmp_path: Path) -> None:
    looks = ("/bin/sh", "-c", "[ -e /opt/unused/data ]; echo looked")
    assert verify(folder, slim, tmp_path, *looks).missed_files == ["opt/unused/data"]
    with pytest.raises(VerificationError, match="it looked for srv/folder/unread, which was"):
        verify(folder, slim, tmp_path, "/bin/cat", "/srv/link/unread")


@pytest.mark.parametrize("location", ["/", "/usr", "nowhere"])
def test_this_machine_itself_is_no_root_folder(location: str) -> None:
    with pytest.raises(UserError, match="expected a folder that holds a root file system"):
        target_of("x", [workload_in(Path(location), "true")])


def test_a_slim_root_lies_elsewhere(folder: Path) -> None:
    with pytest.raises(UserError, match="cannot be in the environment"):
        RootFolder(folder / "root").check_place(folder / "root/env")
