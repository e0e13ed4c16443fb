"""A root whose program is static: what starts it where it is slim puts files back."""

import subprocess
from pathlib import Path, PurePath

import pytest
from machine_root import root_of_programs

from trimtab.config.groups.debloat import Debloat, Fallback, Remove
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.verification.verify import verify_environment
from trimtab.errors import TrimtabError, UserError
from trimtab.processes.root import INIT, STARTED_BY_INIT, RootFileSystem
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import with_files_followed
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.files import read_file_trace
from trimtab.records.usage import Usage, UsedFile
from trimtab.records.verdict import Verdict

PROBE = Path(__file__).parents[1] / "probe.c"
TRACED = ("/probe", "cat /srv/page", "stat /srv/other")


def workload_in(root: Path, *command: str) -> Workload:
    target = TargetConfig(kind="root_folder", location=str(root))
    return Workload(name="program", command=list(command), workdir="/", target=target)


def debloated(folder: Path, destination: Path, command: tuple[str, ...], options: Debloat) -> Path:
    """Trace the command in the root, and make that slim; `destination` has the results."""
    workload = workload_in(folder / "root", *command)
    program = with_files_followed(program_of(workload, folder / "out"), folder / "files.jsonl")
    try:
        measure_run(
            program, condition="traced_files", repeat=0, hardware=NO_POWER_MODEL, log_dir=folder
        )
    except UserError as error:
        pytest.skip(f"no root can be entered here: {error}")
    files = [
        UsedFile(use.path, use.real_path, sorted(use.uses))
        for use in read_file_trace(folder / "files.jsonl").files
    ]
    usage = Usage(
        workload="program", command=[*command], complete=True, files=files, files_complete=True
    )
    usage.write(folder / "usage.json")
    stage = DebloatStage("program", "here", [], [workload], options)
    with Debloating(stage, [folder / "usage.json"], destination) as debloating:
        debloating.write()
        debloating.build(destination / "env")
    return destination


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("started")
    root = folder / "root"
    root_of_programs(root, ("sh", "cat"))
    (root / "srv").mkdir()
    for name in ("page", "other", "unread"):
        (root / "srv" / name).write_text(f"{name}\n" * 2000)
    static = ["gcc", "-static", "-O1", "-pthread", "-w", "-o", root / "probe", PROBE]
    subprocess.run(static, check=True)
    return folder


@pytest.fixture(scope="module")
def slim(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = Debloat(name="x", remove=Remove.FILES)
    return debloated(folder, tmp_path_factory.mktemp("slim"), TRACED, options)


def verify(folder: Path, slim: Path, destination: Path, *command: str) -> Verdict:
    workload = workload_in(folder / "root", *command)
    verify_environment(
        "program", [workload], NO_POWER_MODEL, slim / "env", slim / "manifest.json", 1, destination
    )
    return Verdict.read(destination / "verify.json")


def test_what_was_traced_misses_nothing(folder: Path, slim: Path, tmp_path: Path) -> None:
    assert (slim / "env" / STARTED_BY_INIT).is_file()
    assert not (slim / "env/srv/unread").exists()
    assert verify(folder, slim, tmp_path, *TRACED).missed_files == []


def test_what_was_not_traced_comes_back_and_is_named(
    folder: Path, slim: Path, tmp_path: Path
) -> None:
    assert verify(folder, slim, tmp_path, "/probe", "cat /srv/unread").missed_files == [
        "srv/unread"
    ]


def test_what_starts_it_is_believed_only_as_it_was_made(
    folder: Path, slim: Path, tmp_path: Path
) -> None:
    init = slim / "env" / INIT
    made = init.read_bytes()
    init.write_bytes(b"#!/bin/sh\n")
    try:
        with pytest.raises(TrimtabError, match="trimtab/init"):
            verify(folder, slim, tmp_path, *TRACED)
    finally:
        init.write_bytes(made)


def test_a_program_of_glibc_is_started_as_it_is(folder: Path, tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "cat /srv/page")
    slim = debloated(folder, tmp_path, command, Debloat(name="x", remove=Remove.FILES))
    assert (slim / "env" / INIT).is_file()  # for those that it may start
    assert not (slim / "env" / STARTED_BY_INIT).exists()


def test_without_a_fallback_nothing_starts_it(folder: Path, tmp_path: Path) -> None:
    options = Debloat(name="x", remove=Remove.FILES, fallback=Fallback.NONE)
    env = debloated(folder, tmp_path, TRACED, options) / "env"
    assert not (env / INIT.parent).exists()
    assert "/probe" in RootFileSystem(env).entering(["/probe"], PurePath("/"), None)[-1:]
