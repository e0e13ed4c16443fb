"""Verification on a real program in a real environment: equal, different, crashing, unsteady."""

import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Debloat, Fallback, Remove
from trimtab.config.groups.output import Output
from trimtab.config.groups.workload import Marks, Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating, debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.verify import VerificationError, verify_environment
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.meters.rapl import Rapl
from trimtab.profiling.profile import trace_workload
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES, RUNS
from trimtab.records.usage import Usage
from trimtab.records.verdict import Verdict

MANIFEST = "manifest.json"
LIBRARY = r"""
#define PAGES __attribute__((noinline, aligned(4096)))
PAGES int used(int x) { return x * 3 + 1; }
#define R8(n) __asm__ volatile(".fill 65536, 1, 0x90"); return x + n;
PAGES int unused(int x) { R8(2) }
PAGES int small(int x) { return x - 5; }
"""
PROGRAM = """
import ctypes, os, sys
library = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libmine.so"))
name = open(sys.argv[1]).read().strip()
print("start", flush=True)
open(sys.argv[2], "w").write(str(getattr(library, name)(int(sys.argv[3]))))
"""


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    prefix = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (folder / "mine.c").write_text(LIBRARY)
    library = prefix / "lib/libmine.so"
    command = ["gcc", "-O1", "-g", "-shared", "-fPIC", "-o", library, folder / "mine.c"]
    subprocess.run(command, check=True)
    (folder / "program.py").write_text(PROGRAM)
    return prefix


def workload(venv: Path, folder: Path, argument: str = "2") -> Workload:
    (folder / "choice").write_text("used")
    return Workload(
        name="mine",
        command=["python", str(venv.parent / "program.py"), str(folder / "choice"),
                 "{output}/result", argument],
        python=str(venv / "bin/python"),
        workdir=str(folder),
        output=Output("digest_file", "{output}/result"),
        marks=Marks(first_iteration="^start"),
    )  # fmt: skip


def with_more(mine: Workload, folder: Path, more: str) -> Workload:
    """Return `mine` running a program that does `more` at its end."""
    program = folder / "program.py"
    original = (
        f"import subprocess, time\noriginal = {str(Path(mine.python or '').parent.parent)!r}\n"
    )
    program.write_text(f"{PROGRAM}\nparent = os.getpid()\n{original}{more}")
    mine.command[1] = str(program)
    return mine


def slim(mine: Workload, venv: Path, folder: Path, mode: str, fallback: str = "original") -> Path:
    """Trace, debloat and build the environment of `mine`."""
    usage = trace_workload(mine, folder / "trace")
    assert usage.complete, usage.incomplete_because
    usage.write(folder / "usage.json")
    options = Debloat(name=mode, remove=Remove.CODE, mode=mode, minimum_hole_bytes=4096)
    stage = DebloatStage(
        target="mine", hardware="test_machine", gpus=[], workloads=[mine], debloat=options
    )
    debloat_target(stage, [folder / "usage.json"], folder)
    target_of("mine", [mine]).build(folder, "copy", Source(Fallback(fallback)), folder / "env")
    return folder / "env"


@pytest.mark.parametrize("mode", ["zero", "punch", "compact"])
def test_equal_output_passes(venv: Path, tmp_path: Path, mode: str) -> None:
    before = sha256_of(venv / "lib/libmine.so")
    mine = workload(venv, tmp_path)
    env = slim(mine, venv, tmp_path, mode)
    verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 2, tmp_path)
    assert sha256_of(venv / "lib/libmine.so") == before
    verdict = Verdict.read(tmp_path / "verify.json")
    assert verdict.passed and verdict.removed_calls == []
    assert (env / "trimtab/removed").is_dir() == (mode != "punch")
    [each] = verdict.workloads
    assert (each.workload, each.repeats, each.equal_runs, each.equal) == ("mine", 2, 2, True)
    told = mode != "punch"  # without a fallback nobody tells
    assert (each.slim_runs, each.clean_runs) == (3, 3 if told else None)
    assert each.libraries == (1 if told else None)
    assert (each.risk is not None) == told
    if each.risk:
        assert each.risk.estimate == 0
        assert each.risk.bound == pytest.approx(1 - 0.05 ** (1 / 3))
    assert list(verdict.resident_bytes) == ["mine"]
    runs = read_table(tmp_path / "verify_runs.parquet", RUNS)
    assert list(runs["condition"]) == ["original", "debloated", "debloated", "original"]
    assert runs["output_digest"].nunique() == 1
    if not Rapl().domains:  # nobody knows what this machine takes
        assert runs["energy_j"].isna().all() and set(runs["energy_source"]) == {"unknown"}
    assert (runs["start_up_s"] <= runs["wall_s"]).all()
    table = read_table(tmp_path / "libraries.parquet", LIBRARIES).set_index("library")
    mine_row = table.loc["lib/libmine.so"]
    assert mine_row["removed_bytes"] > 65536
    shrinks = {"zero": 0, "punch": 0, "compact": 60_000}[mode]
    assert mine_row["size_before_bytes"] - mine_row["size_after_bytes"] >= shrinks
    if mode == "punch":
        assert (env / "lib/libmine.so").stat().st_blocks * 512 < mine_row["size_before_bytes"]


@pytest.mark.parametrize("fallback", ["original", "packed"])
def test_what_is_put_back_is_told_and_no_failure(venv: Path, tmp_path: Path, fallback: str) -> None:
    mine = workload(venv, tmp_path)
    env = slim(mine, venv, tmp_path, "compact", fallback)
    (tmp_path / "choice").write_text("unused")
    verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 2, tmp_path)
    verdict = Verdict.read(tmp_path / "verify.json")
    [each] = verdict.workloads
    assert verdict.passed and (each.slim_runs, each.clean_runs) == (3, 0)
    [call] = verdict.removed_calls
    assert (call.library, call.name, call.processes) == ("lib/libmine.so", "unused", 3)
    # All of them asked for it, so that a next environment would have it.
    assert each.risk and (each.risk.estimate, each.risk.bound) == (0, 1)
    assert not (env / "trimtab/fallback.jsonl").exists()


def test_a_process_that_ends_late_counts(venv: Path, tmp_path: Path) -> None:
    """A child that calls removed code after its parent has ended."""
    mine = with_more(workload(venv, tmp_path), tmp_path, """
if os.path.exists("more") and not os.fork():
    while os.getppid() == parent: pass
    library.unused(1)
""")  # fmt: skip
    env = slim(mine, venv, tmp_path, "compact")
    (tmp_path / "more").touch()
    verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 1, tmp_path)
    [call] = Verdict.read(tmp_path / "verify.json").removed_calls
    assert call.name == "unused"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("os._exit(3)", "debloated run 0 ended with exit code 3"),
        ("subprocess.run([sys.executable, '-c', 'import os; os.abort()'])", "ended with signal 6"),
        ("os.fork() or (os.setsid(), time.sleep(60))", "left 1 processes behind"),
        ("ctypes.CDLL(f'{original}/lib/libmine.so')", "used lib/libmine.so of the original"),
        (
            "subprocess.run([f'{original}/bin/python', '-c', 'import ctypes; "
            "ctypes.CDLL(\"{original}/lib/libmine.so\")'.replace('{original}', original)])",
            "a process of it used lib/libmine.so of the original",
        ),
    ],
    ids=["exit code", "child", "orphan", "library", "process"],
)
def test_what_is_other_than_in_the_original_is_told(
    venv: Path, tmp_path: Path, more: str, said: str
) -> None:
    mine = with_more(workload(venv, tmp_path), tmp_path, f"if sys.prefix != original: {more}\n")
    env = slim(mine, venv, tmp_path, "zero")
    with pytest.raises(VerificationError, match=said):
        verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 1, tmp_path)
    assert not Verdict.read(tmp_path / "failure/verify.json").passed


def in_pure_python(venv: Path, folder: Path, slim_reads: str = "sys.prefix") -> Workload:
    """A workload that loads none of the environment's libraries."""
    mine = workload(venv, folder)
    (venv / "lib/said.py").write_text("words = 'said'")
    program = folder / "pure.py"
    program.write_text(
        f"import sys\nprefix = sys.prefix if sys.prefix == {str(venv)!r} else {slim_reads}\n"
        "sys.path.insert(0, prefix + '/lib')\nimport said\n"
        "open(sys.argv[2], 'w').write(said.words)\n"
    )
    mine.command[1] = str(program)
    mine.marks = Marks()
    return mine


def without_libraries(mine: Workload, folder: Path) -> Path:
    """Trace, debloat and build the environment of a program that loads none of its libraries."""
    trace_workload(mine, folder / "trace").write(folder / "usage.json")
    options = Debloat(name="x", remove=Remove.FILES)
    stage = DebloatStage("mine", "test_machine", [], [mine], options)
    with Debloating(stage, [folder / "usage.json"], folder) as debloating:
        debloating.write()
        debloating.build(folder / "env")
    return folder / "env"


def test_a_program_that_loads_no_library_is_verified(venv: Path, tmp_path: Path) -> None:
    """Which environment it used is told by where its files lie: no library tells it."""
    mine = in_pure_python(venv, tmp_path)
    environment = without_libraries(mine, tmp_path)
    verify_environment(
        "mine", [mine], NO_POWER_MODEL, environment, tmp_path / MANIFEST, 2, tmp_path
    )
    verdict = Verdict.read(tmp_path / "verify.json")
    assert verdict.passed and verdict.workloads[0].equal_runs == 2


@pytest.mark.parametrize(
    ("program", "slim_reads", "expected"),
    [
        ("{original}/bin/python", "sys.prefix", "no process of it used the slim environment"),
        ("/usr/bin/env true", "sys.prefix", "no process of it used the slim environment"),
        ("", "{original!r}", r"it used lib/\S*said\S*\.pyc? of the original environment"),
    ],
)
def test_a_program_that_loads_no_library_and_names_the_original_is_not_verified(
    venv: Path, tmp_path: Path, program: str, slim_reads: str, expected: str
) -> None:
    mine = in_pure_python(venv, tmp_path, slim_reads.format(original=str(venv)))
    environment = without_libraries(mine, tmp_path)
    if program:
        script = tmp_path / "run.sh"
        program = program.format(original=venv)
        script.write_text(f'#!/bin/sh\n{program} "$@"\nprintf said > $3\n')
        script.chmod(0o755)
        mine.command[0] = str(script)
    with pytest.raises(VerificationError, match=expected):
        verify_environment(
            "mine", [mine], NO_POWER_MODEL, environment, tmp_path / MANIFEST, 1, tmp_path
        )


def test_a_program_that_names_the_original_is_not_verified(venv: Path, tmp_path: Path) -> None:
    mine = workload(venv, tmp_path)
    script = tmp_path / "run.sh"
    script.write_text(f'#!/bin/sh\nexec {venv}/bin/python "$@"\n')
    script.chmod(0o755)
    mine.command[0] = str(script)
    env = slim(mine, venv, tmp_path, "zero")
    with pytest.raises(VerificationError, match="no process of it used the slim environment"):
        verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 1, tmp_path)


def test_nothing_of_the_runs_is_left(venv: Path, tmp_path: Path) -> None:
    mine = workload(venv, tmp_path)
    env = slim(mine, venv, tmp_path, "compact")
    before = {path.name for path in tmp_path.iterdir()}
    verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 1, tmp_path)
    after = {path.name for path in tmp_path.iterdir()}
    assert after - before == {"verify.json", "verify_runs.parquet"}


def test_another_crash_is_named_beside_a_fallback(venv: Path, tmp_path: Path) -> None:
    more = "if sys.prefix.endswith('/env'): ctypes.string_at(0)"
    mine = with_more(workload(venv, tmp_path), tmp_path, more)
    env = slim(mine, venv, tmp_path, "compact")
    with pytest.raises(VerificationError, match=r"ended by signal 11.*; SIGSEGV in "):
        verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 1, tmp_path)
    verdict = Verdict.read(tmp_path / "failure/verify.json")
    assert verdict.crash and verdict.crash.signal == "SIGSEGV" and verdict.removed_calls == []


def test_a_crash_without_a_fallback_names_library_and_function(venv: Path, tmp_path: Path) -> None:
    mine = workload(venv, tmp_path)
    env = slim(mine, venv, tmp_path, "compact", "none")
    (tmp_path / "choice").write_text("unused")
    with pytest.raises(VerificationError) as error:
        verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 2, tmp_path)
    assert "libmine.so" in str(error.value) and ", unused at 0x" in str(error.value)
    assert not (tmp_path / "verify.json").exists()
    verdict = Verdict.read(tmp_path / "failure/verify.json")
    assert not verdict.passed and verdict.crash and verdict.crash.function == "unused"
    assert (tmp_path / "failure/mine/logs/debloated-0.stderr").is_file()


def test_another_output_fails(venv: Path, tmp_path: Path) -> None:
    mine = workload(venv, tmp_path)
    env = slim(mine, venv, tmp_path, "zero")
    program = (venv.parent / "program.py").read_text()
    other = tmp_path / "program.py"
    other.write_text(program.replace("str(getattr", "sys.prefix + str(getattr"))
    mine.command[1] = str(other)
    with pytest.raises(VerificationError, match="another output"):
        verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 1, tmp_path)


def test_a_workload_without_a_seed_is_the_users_mistake(venv: Path, tmp_path: Path) -> None:
    mine = workload(venv, tmp_path)
    env = slim(mine, venv, tmp_path, "zero")
    other = tmp_path / "program.py"
    other.write_text("import os, sys; open(sys.argv[2], 'wb').write(os.urandom(9)); print('start')")
    mine.command[1] = str(other)
    with pytest.raises(UserError, match="differs from run to run"):
        verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 2, tmp_path)


def test_what_a_killed_worker_had_used_counts(venv: Path, tmp_path: Path) -> None:
    killer = tmp_path / "killer.py"
    killer.write_text(
        "import ctypes, os, signal, sys\nready, done = os.pipe()\npid = os.fork()\n"
        "if not pid:\n"
        "    ctypes.CDLL(os.path.join(sys.prefix, 'lib', 'libmine.so')).small(1)\n"
        "    os.write(done, b'x'); signal.pause()\n"
        "os.read(ready, 1); os.kill(pid, signal.SIGKILL); os.wait()\nprint('start')\n"
    )
    mine = workload(venv, tmp_path)
    mine.command[1:] = [str(killer)]
    mine.output = Output()
    env = slim(mine, venv, tmp_path, "compact")
    usage = Usage.read(tmp_path / "usage.json")
    assert usage.complete and "killed before their exit: 1 processes" in usage.notes[0]
    verify_environment("mine", [mine], NO_POWER_MODEL, env, tmp_path / MANIFEST, 1, tmp_path)
    assert Verdict.read(tmp_path / "verify.json").passed


def test_an_incomplete_record_removes_nothing(venv: Path, tmp_path: Path) -> None:
    mine = workload(venv, tmp_path)
    lacking = {"complete": False, "incomplete_because": ["a process was not seen"]}
    usage = trace_workload(mine, tmp_path / "trace").model_copy(update=lacking)
    usage.write(tmp_path / "usage.json")
    with pytest.raises(UserError, match="a process was not seen"):
        stage = DebloatStage("mine", "m", [], [mine], Debloat(name="x", remove=Remove.CODE))
        debloat_target(stage, [tmp_path / "usage.json"], tmp_path)
