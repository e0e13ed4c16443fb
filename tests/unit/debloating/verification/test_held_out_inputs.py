"""Inputs that were not profiled: what they miss is told under each behaviour, and comes back."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trimtab.cli.summary import held_out_table
from trimtab.config.fields import MistakeError
from trimtab.config.groups.debloat import Debloat, Fallback, Remove
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.held_out import HeldOut
from trimtab.config.groups.output import Output, OutputComparison
from trimtab.config.groups.workload import ServerConfig, Workload
from trimtab.config.root import Profiling, Verify
from trimtab.config.stages import DebloatStage, ProfileStage, VerifyStage, dump
from trimtab.config.validate import checked
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.verify import (
    NotJudgedError,
    VerificationError,
    verify_environment,
)
from trimtab.errors import UserError
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_workload
from trimtab.records.misses.held_out import HeldOutInput
from trimtab.records.verdict import Verdict

LIBRARY = r"""
#define PAGES __attribute__((noinline, aligned(4096)))
PAGES int used(int x) { return x * 3 + 1; }
PAGES int unused(int x) { __asm__ volatile(".fill 65536, 1, 0x90"); return x + 2; }
"""
PROGRAM = """
import ctypes, os, sys, time
name = sys.argv[2]
if name == "pool":
    import multiprocessing
    data = sys.prefix + "/share/data"
    with multiprocessing.Pool(2) as pool: print(pool.map(os.path.getsize, [data]))
elif name == "nothing": pass
elif name == "sleeps": time.sleep(60)
elif name == "flaky":
    slim = os.path.exists(sys.prefix + "/trimtab")
    before = os.path.exists("flaky.mark")
    open("flaky.mark", "w").close()
    sys.exit(0 if slim or before else 3)
elif name == "otherwise": sys.exit(4 if os.path.exists(sys.prefix + "/trimtab") else 3)
elif name == "where": print(sys.prefix)
elif name == "which": print(os.path.exists(sys.prefix + "/trimtab"))
elif name == "times": print("7 passed in " + str(time.monotonic()) + "s"); print(sys.argv[1])
else:
    library = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libmine.so"))
    if name == "serves":
        import signal
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(int(sys.argv[3])))
        print("ready at", library.used(2), flush=True)
        while True: signal.pause()
    print(getattr(library, name)(int(sys.argv[1])))
    if name == "unused": print(open(os.path.join(sys.prefix, "share/data")).read())
end = int(sys.argv[3]) if len(sys.argv) > 3 else 0
if end < 0:
    sys.stdout.flush()
    os.kill(os.getpid(), -end)
sys.exit(end)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A venv, and beside it its slim environment for what `used` needs."""
    folder = tmp_path_factory.mktemp("held_out")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (folder / "mine.c").write_text(LIBRARY)
    command = ["gcc", "-O1", "-shared", "-fPIC", "-o", folder / "venv/lib/libmine.so"]
    subprocess.run([*command, folder / "mine.c"], check=True)
    (folder / "venv/share").mkdir()
    (folder / "venv/share/data").write_text("data\n")
    (folder / "program.py").write_text(PROGRAM)
    mine = workload(folder)
    trace_workload(mine, folder / "trace", 2).write(folder / "usage.json")
    options = Debloat(name="remove", minimum_hole_bytes=4096, remove=Remove.FILES)
    stage = DebloatStage(target="mine", hardware="here", gpus=[], workloads=[mine], debloat=options)
    debloat_target(stage, [folder / "usage.json"], folder)
    target_of("mine", [mine]).build(folder, "copy", Source(Fallback.ORIGINAL), folder / "env")
    return folder


def workload(folder: Path, **held_out: HeldOut) -> Workload:
    return Workload(
        name="mine", command=["python", "program.py", "2", "{name}"], workdir=str(folder),
        python=str(folder / "venv/bin/python"), parameters={"name": "used"}, held_out=held_out,
    )  # fmt: skip


def named(name: str) -> HeldOut:
    return HeldOut(parameters={"name": name})


def ending(name: str, exit_code: int) -> HeldOut:
    """An input that ends with `exit_code`, or below 0 by that signal, where nothing is amiss."""
    return HeldOut(command=["python", "program.py", "7", name, str(exit_code)])


def verified(folder: Path, **changes: Any) -> list[HeldOutInput]:
    """Return what was seen of inputs, and with other keys of the workload than they are."""
    held_out = {key: value for key, value in changes.items() if isinstance(value, HeldOut)}
    others = {key: value for key, value in changes.items() if key not in held_out}
    mine = replace(workload(folder), held_out=held_out, **others)
    manifest, results = folder / "manifest.json", folder / "results"
    verify_environment("mine", [mine], NO_POWER_MODEL, folder / "env", manifest, 1, results)
    return Verdict.read(results / "verify.json").held_out


def test_each_miss_is_named_and_comes_back(folder: Path) -> None:
    """Each behaviour begins with the environment as it was delivered."""
    env = folder / "env"
    before = {path: path.lstat().st_mtime_ns for path in [env, *env.rglob("*")]}
    other = HeldOut(command=["python", "program.py", "7", "used"])
    same, gone, pool = verified(folder, same=other, gone=named("unused"), pool=named("pool"))
    assert [(run.behaviour, run.missed, run.equal) for run in same.runs] == [
        ("strict", 0, True), ("report", 0, True), ("restore", 0, True),
    ]  # fmt: skip
    assert same.command[-2:] == ["7", "used"] and not same.names
    strict, report, restore = gone.runs
    assert [call.name for call in strict.calls] == ["unused"] and not strict.files
    assert (strict.ended, strict.equal) == ("ended with exit code 70", None)
    assert [call.name for call in restore.calls] == ["unused"]
    assert [file.path for file in restore.files] == ["share", "share/data"]
    assert restore.equal and report.equal and report.missed >= restore.missed == 3
    assert gone.names == ["file share", "file share/data", "lib/libmine.so: unused"]
    assert {run.behaviour: run.equal for run in pool.runs} == {
        "strict": None, "report": True, "restore": True,
    }  # fmt: skip
    assert "file share" in pool.names
    after = {path: path.lstat().st_mtime_ns for path in [env, *env.rglob("*")]}
    state = env / "trimtab/files.state"
    assert {
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    } <= {state, state.parent, state.with_name("stand-ins")}
    assert not any(state.read_bytes())


def test_another_output_fails_and_says_which_input(folder: Path) -> None:
    with pytest.raises(VerificationError, match=r"held-out input which, behaviour strict: another"):
        verified(folder, which=named("which"))
    verdict = Verdict.read(folder / "results/failure/verify.json")
    assert verdict.problem and not verdict.passed and verdict.held_out[-1].name == "which"


def test_where_the_environment_is_counts_as_equal(folder: Path) -> None:
    [held] = verified(folder, where=named("where"))
    assert [run.equal for run in held.runs] == [True, True, True]


def test_lines_that_only_the_held_out_input_changes_are_found_by_running_it_twice(
    folder: Path,
) -> None:
    """As pytest's last line, whose number of tests is another one."""
    lines = Output(OutputComparison.LINES, changing=[r"^3 passed in \S+$"])
    inputs = {"times": named("times"), "which": named("which")}
    mine = replace(workload(folder, **inputs), output=lines)
    manifest, results = folder / "manifest.json", folder / "results"
    with pytest.raises(VerificationError, match="held-out input which, behaviour strict: another"):
        verify_environment("mine", [mine], NO_POWER_MODEL, folder / "env", manifest, 1, results)
    times, _ = Verdict.read(results / "failure/verify.json").held_out
    assert [(run.behaviour, run.equal) for run in times.runs] == [
        ("strict", True), ("report", True), ("restore", True),
    ]  # fmt: skip


def test_an_input_that_gives_another_output_each_time_is_told(folder: Path) -> None:
    with pytest.raises(UserError, match=r"differs from run to run in the original"):
        verified(folder, times=named("times"))


def test_an_input_may_end_with_an_exit_code_of_its_own(folder: Path) -> None:
    """As a test suite of which a few tests fail; also where the workload has to end with 0."""
    suite, plain = verified(folder, ends_with="0", suite=ending("unused", 3), plain=named("used"))
    assert (suite.exit_code, suite.own_exit_code) == (3, 3)
    assert [(run.behaviour, run.ended, run.equal) for run in suite.runs] == [
        ("strict", "ended with exit code 70", None), ("report", "", True), ("restore", "", True),
    ]  # fmt: skip
    assert "lib/libmine.so: unused" in suite.names
    assert (plain.exit_code, plain.own_exit_code) == (0, None)


def test_with_an_exit_code_of_its_own_the_output_counts_as_well(folder: Path) -> None:
    with pytest.raises(VerificationError, match="held-out input which, behaviour strict: another"):
        verified(folder, which=ending("which", 3))


def test_an_exit_code_of_its_own_has_to_be_the_slim_runs_too(folder: Path) -> None:
    with pytest.raises(VerificationError, match="behaviour strict: ended with exit code 4"):
        verified(folder, other=named("otherwise"))


def test_an_input_whose_exit_code_is_another_each_time_is_told(folder: Path) -> None:
    (folder / "flaky.mark").unlink(missing_ok=True)
    said = r"held_out.bad: it does not end the same .* it ended with exit code 3, then .* code 0"
    with pytest.raises(UserError, match=said):
        verified(folder, bad=named("flaky"))


def test_a_server_may_end_with_an_exit_code_of_its_own_and_what_drives_it_may_not(
    folder: Path,
) -> None:
    serving = {
        "command": ["python", "program.py", "2", "serves", "0"],
        "server": ServerConfig(drive=["echo", "asked"], ready="ready at 7"),
    }
    [held] = verified(folder, **serving, other=ending("serves", 3))
    assert held.own_exit_code == 3 and [run.equal for run in held.runs] == [True, True, True]
    with pytest.raises(UserError, match=r"held_out.bad: .* driven by .* ended with exit code 1"):
        verified(folder, **serving, bad=HeldOut(drive=["false"]))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (ending("nothing", 126), "code 126, where the workload ended with exit code 0; .*not 70"),
        (ending("nothing", 127), "ended with exit code 127"),
        (ending("nothing", 143), "ended with exit code 143"),  # a shell's for SIGTERM
        (ending("nothing", 70), "ended with exit code 70"),
        (ending("nothing", -11), r"was ended by signal 11 \(SIGSEGV\)"),
        (named("sleeps"), "took too long"),
    ],
)
def test_an_input_that_fails_in_the_original_is_the_users_mistake(
    folder: Path, bad: HeldOut, said: str
) -> None:
    with pytest.raises(NotJudgedError, match=rf"held_out.bad: .*{said}"):
        verified(folder, timeout_s=10.0, bad=bad)


def test_one_that_cannot_be_judged_is_a_row_beside_the_others(folder: Path) -> None:
    """Whether it fails in the original or varies there; verify.json has them all."""
    inputs = {
        "fails": ending("nothing", 127), "varies": named("times"), "good": named("unused"),
        "gone": HeldOut(command=["./no-such-program"]),
    }  # fmt: skip
    with pytest.raises(NotJudgedError, match=r"held_out.fails: .*held_out.varies: ") as told:
        verified(folder, **inputs)
    assert told.value.exit_code == 2
    verdict = Verdict.read(folder / "results/verify.json")
    rows = {held.name: held for held in verdict.held_out}
    assert list(rows) == [*inputs] and verdict.passed
    assert [held.name for held in rows.values() if held.is_right] == ["good"]
    assert "exit code 127" in rows["fails"].problem and not rows["fails"].runs
    assert "differs from run to run" in rows["varies"].problem
    assert "no-such-program" in rows["gone"].problem
    (log,) = re.findall(r"see (\S+)", rows["fails"].problem)
    assert Path(log).is_file()  # what it names is kept
    cells = [str(cell) for cell in held_out_table(verdict.held_out).columns[-1].cells]
    assert len([cell for cell in cells if cell.startswith("cannot be judged: ")]) == 3


def test_every_input_is_reported_where_one_is_other_in_the_slim_environment(folder: Path) -> None:
    inputs = {
        "fails": ending("nothing", 127), "which": named("which"), "other": named("otherwise"),
        "good": named("used"),
    }  # fmt: skip
    with pytest.raises(VerificationError, match=r"input which, .*; held-out input other,") as told:
        verified(folder, **inputs)
    assert told.value.exit_code == 1
    verdict = Verdict.read(folder / "results/failure/verify.json")
    assert [held.name for held in verdict.held_out] == [*inputs] and not verdict.passed
    (log,) = re.findall(r"see (\S+)", verdict.held_out[0].problem)
    assert Path(log).is_file()


def test_a_program_that_is_not_in_the_slim_environment_is_another(folder: Path) -> None:
    """As one that no run started, whose file was removed from a root."""
    program = folder / "venv/bin/of-mine"
    program.symlink_to("/bin/true")
    try:
        with pytest.raises(VerificationError, match=r"held-out input gone, .*: cannot be started"):
            verified(folder, gone=HeldOut(command=[str(program)]), good=named("used"))
    finally:
        program.unlink()
    verdict = Verdict.read(folder / "results/failure/verify.json")
    assert [held.is_right for held in verdict.held_out] == [False, True]


def test_an_input_may_end_as_the_workload_does_whatever_that_is(folder: Path) -> None:
    """As a server that a signal stops; an input that handles the signal has an end of its own."""
    command = ["python", "program.py", "2", "{name}", "-15"]
    same, handles = verified(
        folder,
        command=command,
        ends_with="SIGTERM",
        same=ending("used", -15),
        handles=ending("used", 0),
    )
    assert (same.exit_code, same.own_exit_code) == (-15, None)
    assert (handles.exit_code, handles.own_exit_code) == (0, 0)
    assert all(run.equal for held in (same, handles) for run in held.runs)


def test_only_verification_depends_on_it(folder: Path) -> None:
    plain, held = workload(folder), workload(folder, other=named("unused"))

    hardware = Hardware(
        name="here", cores=2, idle_w=1, busy_w=2, memory_w_per_gib=1, memory_gib=8,
        power_source="modelled",
    )  # fmt: skip
    stages = [ProfileStage(each, hardware, Profiling()) for each in (plain, held)]
    assert len(set(map(dump, stages))) == 1
    texts = {
        dump(VerifyStage(target="t", workloads=[each], hardware=hardware, verify=Verify()))
        for each in (plain, held)
    }
    assert len(texts) == 2


@pytest.mark.parametrize(
    ("given", "key"),
    [({"a": {}}, "held_out.a"), ({"a": {"drive": ["x"]}}, "held_out.a.drive"),
     ({"A": {"command": ["x"]}}, "held_out"), ({"a": {"comand": ["x"]}}, "held_out.a.comand")],
)  # fmt: skip
def test_mistakes_name_the_key(given: object, key: str) -> None:
    plain = {"name": "w", "command": ["x"], "python": "p", "held_out": given}
    with pytest.raises(MistakeError) as error:
        checked(plain, Workload)
    assert error.value.key.startswith(key)
