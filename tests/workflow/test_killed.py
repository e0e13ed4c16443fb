"""Snakemake and the command line, killed or started twice: nothing lives on, nothing by hand."""

import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import make_environment, tools

from trimtab.checkout import no_experiment_at
from trimtab.cli.workspace_mark import claim
from trimtab.errors import UserError
from trimtab.files import read_json
from trimtab.processes.supervision import STARTER

LIMIT_S = 2.0
BIN = Path(sys.executable).parent
# One job, which begins by saying so, and goes on when there is no FIFO.
COMMAND = f"{shlex.quote(sys.executable)} job.py {{output}}"
SNAKEFILE = f"""
from trimtab.checkout import run_alone
run_alone(workflow)
shell.prefix("export {STARTER}=$PPID; ")
rule job:
    output: "results/made"
    shell: {COMMAND!r}
"""
JOB = """
import sys, time
from pathlib import Path
from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised
with supervised(), folder_lock(Path("results")):
    if Path("begun").exists():
        begun = open("begun", "w")
        begun.write("begun")
        begun.flush()
        time.sleep(1000)
    Path(sys.argv[1]).touch()
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "job.py").write_text(JOB)
    return tmp_path


def begun(command: list[str], folder: Path) -> tuple["subprocess.Popen[str]", int]:
    """Start a command; return it when a program below has begun, which holds what is returned."""
    os.mkfifo(folder / "begun")
    alive = os.open(folder / "begun", os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        command, cwd=folder, env=tools(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    assert select.select([alive], [], [], 60)[0] and os.read(alive, 9) == b"begun", process.stdout
    return process, alive


def is_gone(alive: int) -> bool:
    gone = bool(select.select([alive], [], [], LIMIT_S)[0]) and os.read(alive, 9) == b""
    os.close(alive)
    return gone


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / command[0], *command[1:]], cwd=folder, env=tools(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100,
    )  # fmt: skip


def test_one_snakemake_at_a_time_and_none_has_to_be_unlocked(checkout: Path) -> None:
    first, alive = begun([str(BIN / "snakemake"), "--cores", "1"], checkout)
    second = run(checkout, "snakemake", "--cores", "1", "--rerun-incomplete")
    assert second.returncode != 0 and "Traceback" not in second.stdout
    [told] = [line for line in second.stdout.splitlines() if "an experiment is at work" in line]
    assert f"process {first.pid}, since" in told
    assert run(checkout, "snakemake", "-n").returncode == 0
    refused = pytest.raises(UserError, match="an experiment is at work")
    with refused, no_experiment_at(checkout / "results/debloat/one/this_machine"):
        pass
    with no_experiment_at(checkout / "trimtab_workspace"):  # which has nothing to do with it
        pass
    first.kill()
    assert is_gone(alive)
    first.communicate()
    assert list((checkout / ".snakemake/locks").iterdir())
    (checkout / "results/.trimtab-12345678.partial").touch()
    (checkout / "begun").unlink()
    assert run(checkout, "snakemake", "--cores", "1", "--rerun-incomplete").returncode == 0
    assert [path.name for path in (checkout / "results").iterdir()] == ["made"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_snakemake_ends_its_jobs(checkout: Path, number: int) -> None:
    snakemake, alive = begun([str(BIN / "snakemake"), "--cores", "1"], checkout)
    snakemake.send_signal(number)
    assert is_gone(alive)
    said, _ = snakemake.communicate(timeout=30)
    assert snakemake.returncode != 0 and not (checkout / "results/made").exists(), said


# A program whose run number `turn` says that it has begun, and waits.
PROGRAM = """
import os, sys, time
from pathlib import Path
import markupsafe
print(markupsafe.escape("<b>"))
turns = Path("turns")
with turns.open("a") as file:
    file.write("x")
if turns.stat().st_size == {turn}:
    begun = open("begun", "w")
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        begun.write("begun")
        begun.flush()
        time.sleep(1000)
    os.wait()
    time.sleep(1000)
"""
DEBLOAT = ("debloat", "--runs", "1", "--settle", "1", "--")
LINKED = ("env", "spans", "libraries", "runs", "settling", "verification", "failure")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed") / "env"
    make_environment(folder)
    return folder


def debloat(environment: Path, folder: Path) -> None:
    """Debloat and verify the program, which does not wait any more."""
    workspace = folder / "trimtab_workspace"
    done = run(folder, "trimtab", *DEBLOAT, environment / "bin/python", "program.py")
    assert done.returncode == 0, done.stdout
    assert not list(workspace.glob(".*")), "something is left"
    verified = run(folder, "trimtab", "verify", "--repeats", "1")
    assert verified.returncode == 0, verified.stdout
    assert read_json(workspace / "verify.json")["passed"]


@pytest.fixture
def waits_in_turn(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "program.py").write_text(PROGRAM.format(turn=request.param))
    yield tmp_path


# Its runs: as it is, its files followed, traced, and in the slim environment.
@pytest.mark.parametrize(
    ("waits_in_turn", "number", "code"),
    [
        pytest.param(2, signal.SIGINT, 130, marks=pytest.mark.nightly),
        pytest.param(3, signal.SIGTERM, 143, marks=pytest.mark.nightly),
        (4, signal.SIGKILL, -9),
    ],
    indirect=["waits_in_turn"],
)
def test_a_command_that_is_ended_can_be_given_again(
    environment: Path, waits_in_turn: Path, number: int, code: int
) -> None:
    """While it is at work another one is refused, before it changes anything."""
    folder = waits_in_turn
    command = [str(BIN / "trimtab"), *DEBLOAT, str(environment / "bin/python"), "program.py"]
    process, alive = begun(command, folder)
    if number == signal.SIGKILL:
        before = sorted(folder.rglob("*"))
        second = run(folder, *("trimtab", *command[1:]))
        assert second.returncode == 2 and len(second.stdout.splitlines()) == 1
        assert "another trimtab is at work in it: process" in second.stdout
        assert sorted(folder.rglob("*")) == before
    process.send_signal(number)
    assert is_gone(alive)
    said, _ = process.communicate(timeout=10)
    assert process.returncode == code, said
    assert "Traceback" not in said
    if number != signal.SIGKILL:
        assert said.splitlines()[-1].startswith("stopped by SIG")
    debloat(environment, folder)


@pytest.mark.parametrize("waits_in_turn", [0], indirect=True)
def test_links_in_a_workspace_lead_nowhere(environment: Path, waits_in_turn: Path) -> None:
    folder, outside = waits_in_turn, waits_in_turn / "outside"
    (outside / "bin").mkdir(parents=True)
    (outside / "precious").touch()
    workspace = folder / "trimtab_workspace"
    workspace.mkdir()
    claim(workspace)
    for name in LINKED:
        (workspace / name).symlink_to(outside)
    debloat(environment, folder)
    assert sorted(path.name for path in outside.rglob("*")) == ["bin", "precious"]
    assert not [path for path in workspace.iterdir() if path.is_symlink()]
