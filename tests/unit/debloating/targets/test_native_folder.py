"""A native program with its libraries: profiled, debloated, built, run, verified, learned."""

import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from shipped_configurations import SHIPPED

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.cli import workspace
from trimtab.cli.program_options import ProgramOptions
from trimtab.cli.single_steps.learning import SlimFolder
from trimtab.config.groups.debloat import Debloat, Fallback, Mode, Remove, Share
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.native_folder import NativeFolder
from trimtab.debloating.targets.registry import target_at, target_of
from trimtab.debloating.verification.verify import VerificationError, verify_environment
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_workload
from trimtab.records.manifest import Manifest
from trimtab.records.misses.settling import Settling
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES
from trimtab.records.verdict import Verdict

PROJECT = Path(__file__).parents[4]
# Half of the library is used; each function begins a page of its own.
USED, UNUSED = [f"used_{i}" for i in range(8)], [f"unused_{i}" for i in range(8)]
LIBRARY = "\n".join(
    f"int {name}(int x) {{ return x * {i + 2} + {i}; }}" for i, name in enumerate(USED + UNUSED)
)
PROGRAM = f"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int {", ".join(f"{name}(int)" for name in [*USED, "unused_3"])};
int main(int count, char **words) {{
  int sum = 0;
  for (int i = 0; i < atoi(words[2]); i++) sum += {" + ".join(f"{name}(i)" for name in USED)};
  printf("%s %d\\n", words[1], sum);
  fflush(stdout);
  if (getenv("MORE")) printf("%d\\n", unused_3(1));
}}
"""
OUTPUT = f"--rounds {sum(x * (i + 2) + i for x in range(3) for i in range(8))}\n"
MORE = f"{1 * (11 + 2) + 11}\n"  # of unused_3


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the paths of `conf/` start at, with a program in it."""
    monkeypatch.chdir(tmp_path)
    compile_program(tmp_path / "program", "$ORIGIN/../lib")
    return tmp_path


def compile_program(folder: Path, run_path: str) -> None:
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True)
    link = [f"-L{folder}/lib", "-lparts", f"-Wl,-rpath,{run_path}"]
    library = ["-shared", "-fPIC", "-falign-functions=4096", "-o", folder / "lib/libparts.so"]
    for source, options in ((LIBRARY, library), (PROGRAM, ["-o", folder / "bin/program", *link])):
        command = ["gcc", "-O1", "-x", "c", "-", "-x", "none", *options]
        subprocess.run(command, input=source, text=True, check=True)


def workload() -> Workload:
    """The one that `conf/workload/native_program.yaml` describes."""
    found = SHIPPED.option("workload", "native_program")
    assert isinstance(found, Workload)
    return found


def debloat(project: Path, fallback: Fallback, mode: Mode = Mode.COMPACT) -> Path:
    """Trace and debloat the program and build its slim folder; returns that."""
    usage = trace_workload(workload(), project / "trace", traced_runs=1)
    assert usage.complete, usage.incomplete_because
    usage.write(project / "usage.json")
    options = Debloat(name="x", remove=Remove.CODE, mode=mode, minimum_hole_bytes=4096)
    stage = DebloatStage("native", "here", [], [workload()], options)
    debloat_target(stage, [project / "usage.json"], project)
    target = target_at(Manifest.read(project / "manifest.json").environment)
    target.build(project, Share.COPY, Source(fallback), project / "env")
    return project / "env"


def verify(project: Path) -> Verdict:
    verify_environment(
        "native", [workload()], NO_POWER_MODEL, project / "env", project / "manifest.json", 1,
        project,
    )  # fmt: skip
    return Verdict.read(project / "verify.json")


def run(slim: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the slim program as the target runs it, with more variables."""
    program = target_of("native", [workload()]).program(workload(), slim.parent / "out", slim)
    assert Path(program.command[0]) == slim / "bin/program"
    environment = {**program.environment, **variables}
    return subprocess.run(program.command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("mode", [Mode.COMPACT, Mode.ZERO])
def test_the_library_loses_its_unused_functions_and_the_output_stays(
    project: Path, mode: Mode
) -> None:
    original = project / "program/lib/libparts.so"
    before = {path: sha256_of(path) for path in project.glob("program/*/*")}
    slim = debloat(project, Fallback.ORIGINAL, mode)
    assert {path: sha256_of(path) for path in project.glob("program/*/*")} == before
    verdict = verify(project)
    assert verdict.passed and verdict.workloads[0].equal_runs == 1
    assert run(slim).stdout == OUTPUT
    row = read_table(project / "libraries.parquet", LIBRARIES).set_index("library")
    assert list(row.index) == ["lib/libparts.so"]  # the program itself stays as it is
    assert sha256_of(slim / "bin/program") == sha256_of(project / "program/bin/program")
    kept, gone = code_of(slim / "lib/libparts.so", original)
    # A function beside one that is used, or beside start-up code, lies on a page that stays.
    assert set(USED) <= kept and gone <= set(UNUSED) and len(gone) >= 6
    if mode is Mode.COMPACT:
        assert (slim / "lib/libparts.so").stat().st_size < original.stat().st_size - 8 * 4096 // 2


def code_of(slim: Path, original: Path) -> tuple[set[str], set[str]]:
    """The named functions of `original` that `slim` has byte by byte, and those it has not."""
    elf, other = read_elf(original), read_elf(slim)
    names, kept, gone = function_names(elf), set(), set()
    functions = read_functions(elf)
    for start, size in zip(functions.start.tolist(), functions.size.tolist(), strict=True):
        at, there = (int(of.offsets_of(np.array([start]))[0]) for of in (elf, other))
        name = names.of(start)
        if name:
            same = there >= 0 and np.array_equal(elf.read(at, size), other.read(there, size))
            (kept if same else gone).add(name)
    return kept, gone


@pytest.mark.parametrize("fallback", [Fallback.ORIGINAL, Fallback.PACKED])
def test_a_call_into_removed_code_goes_on_or_ends_with_a_message(
    project: Path, fallback: Fallback
) -> None:
    slim = debloat(project, fallback)
    if fallback is Fallback.PACKED:
        (project / "program/lib/libparts.so").rename(project / "elsewhere.so")
    ended = run(slim, MORE="1", TRIMTAB_FALLBACK="strict")
    assert (ended.returncode, ended.stdout) == (70, OUTPUT)
    assert ended.stderr.startswith("trimtab: unused_3 in libparts.so (address 0x")
    restored = run(slim, MORE="1")
    assert (restored.returncode, restored.stdout, restored.stderr) == (0, OUTPUT + MORE, "")


@pytest.mark.parametrize("mode", [Mode.COMPACT, Mode.ZERO])
def test_without_the_fallback_it_is_a_trap_and_never_other_code(project: Path, mode: Mode) -> None:
    slim = debloat(project, Fallback.NONE, mode)
    assert not (slim / "trimtab").exists()
    ended = run(slim, MORE="1")
    assert ended.returncode in (-signal.SIGTRAP, -signal.SIGSEGV) and ended.stdout == OUTPUT


def test_verification_tells_what_was_put_back(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debloat(project, Fallback.ORIGINAL)
    monkeypatch.setenv("MORE", "1")
    verdict = verify(project)
    called = [(call.library, call.name) for call in verdict.removed_calls]
    assert verdict.passed and called == [("lib/libparts.so", "unused_3")]
    assert verdict.workloads[0].clean_runs == 0


def test_without_a_fallback_verification_names_the_function_that_was_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debloat(project, Fallback.NONE)
    monkeypatch.setenv("MORE", "1")
    with pytest.raises(VerificationError, match=r"unused_3\b"):
        verify(project)
    verdict = Verdict.read(project / "failure/verify.json")
    assert verdict.crash and verdict.crash.function == "unused_3"


def test_the_command_line_settles_and_learns_what_was_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, target = project / "workspace", TargetConfig("native_folder", "program")
    command = ["program/bin/program", "--rounds", "3"]
    with pytest.raises(UserError, match="name the interpreter"):
        workspace.trace(folder, command)
    workspace.trace(folder, command, ProgramOptions(target=target), 1)
    options = Debloat(name="x", remove=Remove.CODE, minimum_hole_bytes=4096)
    settling = workspace.debloat(folder, options, [], 2, lambda *_: None, lambda *_: None)
    assert settling.settled and len(settling.runs) == 2
    monkeypatch.setenv("MORE", "1")
    assert SlimFolder(folder).learn_from_runs(1, lambda *_: None) == 1
    learned = Settling.read(folder / "settling.json")
    assert learned.settled and learned.builds == 2 and len(learned.runs) == 4
    verdict = Verdict.read(workspace.verify(folder, 1))
    assert verdict.passed and verdict.removed_calls == []
    slim = folder / "env/bin/program"
    ran = subprocess.run([slim, "--rounds", "3"], capture_output=True, text=True)
    assert ran.stdout == OUTPUT + MORE


def test_what_the_program_is_told_of_its_folder_is_the_slim_one(project: Path) -> None:
    given = Workload(
        "w",
        ["program/bin/program", "program/lib", "program/absent", str(project / "program")],
        env={"LD_LIBRARY_PATH": f"program/lib:/usr/lib:{project}/program/lib", "OTHER": "bin"},
        target=TargetConfig("native_folder", "program"),
    )
    target, slim = target_of("t", [given]), project / "env"
    (slim / "trimtab").mkdir(parents=True)
    plain = target.program(given, project / "out")
    assert plain.command[0] == "program/bin/program"
    moved = target.program(given, project / "out", slim)
    words = (f"{slim}/bin/program", f"{slim}/lib", "program/absent", str(slim))
    assert (moved.command, moved.workdir) == (words, project)
    assert moved.environment["LD_LIBRARY_PATH"] == f"{slim}/lib:/usr/lib:{slim}/lib"
    assert moved.environment["OTHER"] == "bin" and "LD_PRELOAD" not in moved.environment
    (slim / "trimtab/libtrimtab-fallback.so").touch()
    inside = Workload("w", ["./program"], workdir="program/bin", target=given.target)
    moved = target.program(inside, project / "out", slim)
    assert moved.workdir == slim / "bin" and Path(moved.command[0]) == slim / "bin/program"
    assert moved.environment["LD_PRELOAD"] == str(slim / "trimtab/libtrimtab-fallback.so")


def test_a_folder_that_is_found_by_its_own_path_is_refused(project: Path) -> None:
    """A copy of it would load the original's libraries, and be compared with itself."""
    fixed = project / "fixed"
    compile_program(fixed, str(fixed / "lib"))
    given = Workload("w", ["fixed/bin/program"], target=TargetConfig("native_folder", "fixed"))
    with pytest.raises(UserError, match=re.escape(f"{fixed}/bin/program: finds libraries by")):
        target_of("t", [given])


@pytest.mark.parametrize("location", ["nowhere", "program/bin/program", "/usr", "/usr/../usr"])
def test_what_is_no_folder_of_a_program_is_refused(project: Path, location: str) -> None:
    given = Workload("w", ["ls"], target=TargetConfig("native_folder", location))
    with pytest.raises(UserError, match=r"workload w: target\.location: .*a folder of its own"):
        NativeFolder.of(given)
