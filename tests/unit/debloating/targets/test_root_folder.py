"""Roots of file systems: what of them goes, and programs that run in what is left."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from machine_root import root_of_programs

from trimtab.config.groups.debloat import Debloat, Fallback, Remove
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY
from trimtab.debloating.kept_libraries import left_alone
from trimtab.debloating.libraries.profiled import untraced_libraries
from trimtab.debloating.misses import learn
from trimtab.debloating.removal import removed_paths
from trimtab.debloating.settling import settle
from trimtab.debloating.slim_runs import restoring
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.targets.root_folder import RootFolder
from trimtab.debloating.verification.verify import VerificationError, verify_environment
from trimtab.errors import UserError
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_workload, with_files_followed
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.files import read_file_trace
from trimtab.profiling.tracing.function_records import LEFT_ALONE
from trimtab.records.manifest import Environment, Manifest, Timings
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.misses.removed_files import MissedFile
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
    options = Debloat(name="x", remove=Remove.FILES, fallback=Fallback.NONE)
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


LIBRARY = """
#define LONG(name) __attribute__((aligned(4096))) int name(int x) { \\
  __asm__ volatile(".fill 65536, 1, 0x90"); return x + 1; }
LONG(used) LONG(more) LONG(last)
"""
CALLS = """
#include <stdio.h>
int used(int), more(int);
int main(int count, char **words) {
  printf("%d\\n", count > 1 ? more(41) : used(1));
  return 0;
}
"""


def test_libraries_inside_lose_code_that_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root_of_programs(root, ["cat"])
    for name in ("work/here", "opt/lib", "opt/bin"):
        (root / name).mkdir(parents=True)
    for name, source in (("libmine", LIBRARY), ("app", CALLS)):
        (tmp_path / f"{name}.c").write_text(source)
    library = root / "opt/lib/libmine.so"
    for command in (
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libmine.so", "-o", library, "libmine.c"],
        ["gcc", "-o", root / "opt/bin/app", "app.c", library, "-Wl,-rpath,/opt/lib"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    workload = workload_in(root, "/opt/bin/app")
    try:
        usage = trace_workload(workload, tmp_path / "trace", 1)
    except UserError as error:
        pytest.skip(f"no root can be entered here: {error}")
    usage.write(tmp_path / "usage.json")
    options = Debloat(name="x", remove=Remove.FILES)
    stage = DebloatStage("program", "here", [], [workload], options, Settle(clean_runs=1))
    environment = tmp_path / "slim/env"
    with Debloating(stage, [tmp_path / "usage.json"], tmp_path / "slim") as debloating:
        debloating.write()
        debloating.build(environment)
        assert settle(debloating, environment).settled
    assert (environment / "opt/lib/libmine.so").stat().st_size < library.stat().st_size / 2
    assert not (environment / "usr/bin/cat").exists()
    program = RootFolder(root).program(
        replace(workload, command=["/opt/bin/app", "more"]), tmp_path / "out", environment
    )
    record = tmp_path / "records/missed.jsonl"
    run = measure_run(
        restoring(program, record), condition="slim", repeat=0, hardware=NO_POWER_MODEL,
        log_dir=tmp_path / "logs",
    )  # fmt: skip
    assert run.exit_code == 0 and (tmp_path / "logs/slim-0.stdout").read_text() == "42\n"
    assert [call.name for call in read_removed_calls(record)] == ["more"]


def test_a_root_whose_libraries_all_stay_whole_is_verified(tmp_path: Path) -> None:
    """A program of the C library alone loads nothing that lost code, and no fallback with it."""
    root_of_programs(tmp_path / "root", ["cat", "sort"])
    workload = replace(workload_in(tmp_path / "root", "/bin/cat", "/etc/passwd"), workdir="/")
    try:
        usage = trace_workload(workload, tmp_path / "trace")
    except UserError as error:
        pytest.skip(f"no root can be entered here: {error}")
    usage.write(tmp_path / "usage.json")
    options = Debloat(name="x", remove=Remove.FILES)
    stage = DebloatStage("program", "here", [], [workload], options)
    with Debloating(stage, [tmp_path / "usage.json"], tmp_path) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")
    verify_environment(
        "program", [workload], NO_POWER_MODEL, tmp_path / "env", tmp_path / "manifest.json", 1,
        tmp_path / "verified",
    )  # fmt: skip
    [verdict] = Verdict.read(tmp_path / "verified/verify.json").workloads
    assert verdict.equal and verdict.libraries == 1  # the C library, not a byte of which went


def test_libraries_of_privileged_programs_stay_whole(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root_of_programs(root, ["cat", "env"])
    source = tmp_path / "empty.c"
    source.write_text("int nothing;")
    for name, needs in (("plain", []), ("deep", []), ("own", [root / "libdeep.so"])):
        words = ["-shared", "-fPIC", f"-Wl,-soname,lib{name}.so,--no-as-needed,-rpath,/", *needs]
        subprocess.run(["gcc", "-o", root / f"lib{name}.so", source, *words], check=True)
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    links = ["-Wl,--no-as-needed,-rpath,/", root / "libown.so", f"-Wl,-rpath-link,{root}"]
    subprocess.run(["gcc", "-o", root / "su", tmp_path / "main.c", *links], check=True)
    traced = {"traced": True, "not_traced_because": ""}
    libraries = [replace(each, **traced) for each in untraced_libraries(root)]
    usage = Usage(workload="w", command=["x"], complete=True, libraries=libraries)
    assert {each.why_not for each in RootFolder(root).libraries([usage])} == {""}
    (root / "su").chmod(0o4755)
    found = RootFolder(root).libraries([usage])
    whole = {each.name for each in found if "setuid" in each.why_not}
    assert whole == {each.name for each in found if not each.data_goes}
    assert {"libown.so", "libdeep.so"} <= whole and "libplain.so" not in whole
    (root / "su").unlink()
    section = """__asm__(".pushsection .go.buildinfo, \\"aw\\"; .quad 1; .popsection");"""
    (tmp_path / "main.c").write_text(f"int main(void) {{ return 0; }}\n{section}\n")
    subprocess.run(["gcc", "-o", root / "go", tmp_path / "main.c", *links], check=True)
    whole = {each.name for each in RootFolder(root).libraries([usage]) if "of Go" in each.why_not}
    assert {"libown.so", "libdeep.so"} <= whole and "libplain.so" not in whole
    (root / "go").unlink()
    (root / "opt/lib").mkdir(parents=True)
    old = root / "opt/lib/libc-2.31.so"
    (root / "opt/libc.so.6").symlink_to("/opt/lib/libc-2.31.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", old, source], check=True)
    assert all("too old" in each.why_not for each in RootFolder(root).libraries([usage]))


def test_files_come_back_inside(folder: Path, tmp_path: Path) -> None:
    workloads = [workload_in(folder / "root", "/run.sh")]
    stage = DebloatStage("program", "here", [], workloads, Debloat(name="x", remove=Remove.FILES))
    with Debloating(stage, [folder / "usage.json"], tmp_path) as debloating:
        debloating.write()
        debloating.build(tmp_path / "env")
    reads = ("/bin/cat", "/srv/link/unread", "/opt/unused/data")
    verdict = verify(folder, tmp_path, tmp_path / "verified", *reads)
    assert {"srv/folder/unread", "opt/unused/data"} <= set(verdict.missed_files)
    assert not (tmp_path / "env/opt").exists()  # what a program writes in a root goes with it
    started = verify(folder, tmp_path, tmp_path / "verified", "/bin/sh", "-c", "sort /run.sh")
    assert "usr/bin/sort" in started.missed_files


@pytest.mark.parametrize("location", ["/", "/usr", "nowhere"])
def test_this_machine_itself_is_no_root_folder(location: str) -> None:
    with pytest.raises(UserError, match="expected a folder that holds a root file system"):
        target_of("x", [workload_in(Path(location), "true")])


def test_a_slim_root_lies_elsewhere(folder: Path) -> None:
    with pytest.raises(UserError, match="cannot be in the environment"):
        RootFolder(folder / "root").check_place(folder / "root/env")


@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_what_the_linker_loaded_before_it_still_loads(tmp_path: Path, kind: str) -> None:
    """Whatever stands at its configuration's place; a pipe would have nobody write to it."""
    root, copy = tmp_path / "root", tmp_path / "copy"
    (root / "etc").mkdir(parents=True)
    (root / "etc/real").write_text("/lib/own.so\n")
    place = root / "etc/ld.so.preload"
    if kind == "file":
        (root / "etc/real").rename(place)
    elif kind == "link":
        place.symlink_to("/etc/real")
    else:
        os.mkfifo(place)
    subprocess.run(["cp", "-a", root, copy], check=True)
    (copy / "trimtab").mkdir()
    (copy / FILE_FALLBACK_LIBRARY).touch()
    Manifest(
        target="t", hardware="h", workloads=["w"], environment=Environment("root_folder", "/r"),
        mode="compact", symbols="strip", timings=Timings(1, 1, 1), files={},
    ).write(tmp_path / "manifest.json")  # fmt: skip
    RootFolder(root).adapt(copy, copy, tmp_path)
    written = (copy / "etc/ld.so.preload").read_text().splitlines()
    assert written == [f"/{FILE_FALLBACK_LIBRARY}", *["/lib/own.so"] * (kind != "pipe")]
    assert place.is_symlink() == (kind == "link")


def test_files_that_were_learned_stay(folder: Path, tmp_path: Path) -> None:
    """With all that a program among them needs, and what was learned of another root left out."""
    root = folder / "root"
    names = ["srv/folder/unread", "usr/bin/sort"]
    learn(tmp_path / "learned.json", "program", root, [], [MissedFile(n, "file", 1) for n in names])
    options = Debloat(name="x", remove=Remove.FILES, fallback=Fallback.NONE)
    stage = DebloatStage("program", "here", [], [workload_in(root, "/run.sh")], options)
    with Debloating(stage, [folder / "usage.json"], tmp_path) as debloating:
        debloating.write()
    gone = removed_paths(tmp_path)
    assert gone.isdisjoint(names) and "opt/unused/data" in gone
    assert not any("libcrypto" in name for name in gone)  # of sort alone


def test_named_libraries_of_a_root_stay_as_they_are(tmp_path: Path) -> None:
    """The system's too, by paths as programs inside see them."""
    root = tmp_path / "root"
    root_of_programs(root, ["ls", "cat"])
    [library] = root.rglob("libselinux.so.1")
    named = f"/{library.resolve().relative_to(root.resolve())}"
    workload = replace(workload_in(root, "/bin/ls", "/etc"), workdir="/")
    target = target_of("program", [workload])
    alone = left_alone(target, ["**/libselinux.so*"])
    assert alone == {named.removeprefix("/"): named}
    try:
        usage = trace_workload(workload, tmp_path / "trace", 1, alone.values())
    except UserError as error:
        pytest.skip(f"no root can be entered here: {error}")
    [traced] = [each for each in usage.libraries if "libselinux" in each.path]
    assert traced.not_traced_because == LEFT_ALONE
    usage.write(tmp_path / "usage.json")
    for options in ({}, {"keep_libraries": ["**/libselinux.so*"]}):
        stage = DebloatStage(
            "program", "here", [], [workload], Debloat(name="x", remove=Remove.CODE, **options)
        )
        with Debloating(stage, [tmp_path / "usage.json"], tmp_path) as debloating:
            debloating.write()
            debloating.build(tmp_path / "env")
        slim = Path(f"{tmp_path}/env{named}")
        assert slim.read_bytes() == library.read_bytes()
