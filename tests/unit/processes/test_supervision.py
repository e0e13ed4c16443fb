"""Nothing that is started outlives who started it; what a program sees does not change."""

import ast
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from trimtab.places import PROJECT
from trimtab.processes.supervision import STARTER

# A script whose program leaves the session and ignores signals, and so does its daemon. All of them
# hold a pipe; they are alive as long as that has a writer.
SCRIPT = """
import os, subprocess, sys, time
from trimtab.processes.supervision import supervised
PROGRAM = '''
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(1000)
os.wait()
print("ready", flush=True)
time.sleep(1000)
'''
with supervised():
    held = [int(sys.argv[1])]
    subprocess.Popen([sys.executable, "-c", PROGRAM], start_new_session=True, pass_fds=held)
    print(os.getpid(), os.getppid(), flush=True)
    {then}
"""
SLEEP = "time.sleep(1000)"
LIMIT_S = 2.0


@dataclass
class Script:
    """A supervised script that has started a program with a daemon."""

    process: subprocess.Popen[str]
    alive: int
    roles: dict[str, int]

    def ends(self) -> bool:
        """Whether all that holds the pipe is gone within the limit."""
        return bool(select.select([self.alive], [], [], LIMIT_S)[0])


def start(then: str, *before: str) -> Script:
    """Start the script, by the command `before`, and wait until its program is ready."""
    alive, held = os.pipe()
    process = subprocess.Popen(
        # Tests may have been started in the background, or by nohup, with signals ignored.
        ["env", "--default-signal=HUP,INT,TERM", *before, sys.executable, "-c",
         SCRIPT.format(then=then), str(held)],
        pass_fds=[held], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    os.close(held)
    assert process.stdout is not None
    said = sorted(process.stdout.readline() for _ in range(2))
    assert said[1] == "ready\n"
    script, inner = map(int, said[0].split())
    outer = int(Path(f"/proc/{inner}/stat").read_text().rpartition(")")[2].split()[1])
    return Script(process, alive, {"outer": outer, "inner": inner, "script": script})


@pytest.fixture
def script() -> Iterator[Script]:
    yield from stopped_after(start(SLEEP))


def stopped_after(script: Script) -> Iterator[Script]:
    yield script
    script.process.kill()
    script.process.communicate()
    os.close(script.alive)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("role", ["outer", "inner", "script"])
def test_nothing_outlives_it_whoever_is_killed(script: Script, role: str, number: int) -> None:
    os.kill(script.roles[role], number)
    assert script.ends()
    code = script.process.wait(LIMIT_S)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert script.process.stderr is not None
    said = script.process.stderr.read()
    # The script may say so as well before it is killed with a supervisor.
    assert len(said.splitlines()) in ({0, 1} if number == signal.SIGKILL else {1}), said


FOLLOWED = """
import os, sys
from pathlib import Path
from trimtab.processes.launch import followed
from trimtab.processes.program import Program
from trimtab.processes.supervision import supervised
PROGRAM = '''
import os, sys, time
held = open(sys.argv[1], "w")
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    held.write("ready")
    held.flush()
    time.sleep(1000)
os.wait()
time.sleep(1000)
'''
with supervised():
    command = (sys.executable, "-c", PROGRAM, sys.argv[1])
    program = Program(command, Path.cwd(), dict(os.environ), timeout_s=60)
    for _ in followed(program, Path(sys.argv[1] + ".out"), Path(sys.argv[1] + ".err")):
        if Path(f"/proc/{os.getppid()}/comm").read_text() == "trimtab-supervi\\n":
            print(os.getppid(), flush=True)
"""


def test_nor_both_supervisors_at_once(tmp_path: Path) -> None:
    """The script hears of the death of its parent, and ends what it has started."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    alive = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(
        [sys.executable, "-c", FOLLOWED, fifo], stdout=subprocess.PIPE, text=True
    ) as outer:
        assert outer.stdout is not None
        inner = int(outer.stdout.readline())
        assert select.select([alive], [], [], 60)[0] and os.read(alive, 9) == b"ready"
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for supervisor in (inner, outer.pid):
                os.kill(supervisor, number)
        assert select.select([alive], [], [], LIMIT_S)[0] and os.read(alive, 9) == b""
    os.close(alive)


def test_a_signal_to_the_whole_group_ends_it_once(script: Script) -> None:
    """As Ctrl-C does, or `timeout`, which tells the process and then its group."""
    os.killpg(script.process.pid, signal.SIGTERM)
    os.killpg(script.process.pid, signal.SIGTERM)
    assert script.ends() and script.process.wait() == 143


def test_sigkill_to_the_whole_group(script: Script) -> None:
    os.killpg(script.process.pid, signal.SIGKILL)
    assert script.ends()


def test_one_that_does_not_end_when_it_is_told_is_killed() -> None:
    cleaning_up = f"\n    try:\n        {SLEEP}\n    finally:\n        {SLEEP}"
    for script in stopped_after(start(cleaning_up)):
        os.kill(script.process.pid, signal.SIGTERM)
        assert script.ends() and script.process.wait() == 143


@pytest.mark.parametrize(("then", "code"), [("sys.exit(7)", 7), ("os.abort()", -signal.SIGABRT)])
def test_it_ends_as_the_script_does_and_so_does_what_that_left(then: str, code: int) -> None:
    for script in stopped_after(start(f"sys.stdin.readline(); {then}")):
        assert script.process.stdin is not None
        script.process.stdin.write("\n")
        script.process.stdin.close()
        script.process.stdin = None
        assert script.ends() and script.process.wait() == code


@pytest.mark.parametrize("role", ["shell", "starter"])
def test_nothing_outlives_snakemake_or_a_shell_between(role: str) -> None:
    """`sh` stands for Snakemake, and another one for the shell of a rule."""
    shell = f'{STARTER}=$PPID; export {STARTER}; echo $PPID $$ >&2; "$@"; true'
    for script in stopped_after(start(SLEEP, "sh", "-c", 'sh -c "$0" "$@"; true', shell, "sh")):
        assert script.process.stderr is not None
        starter, between = map(int, script.process.stderr.readline().split())
        os.kill({"starter": starter, "shell": between}[role], signal.SIGKILL)
        assert script.ends()


def test_a_script_whose_snakemake_is_gone_does_not_begin() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(then=SLEEP)],
        env={**os.environ, STARTER: str(2**22)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: Snakemake has ended\n"


def test_what_a_program_sees_is_the_same() -> None:
    told = """
import json, os, signal
facts = [sorted(os.environ.items()), os.getsid(0), os.getpgid(0), os.listdir("/proc/self/fd")]
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
facts += [status[key] for key in ("SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp")]
print(json.dumps(facts))
"""
    run = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {told!r}])"
    supervised = f"from trimtab.processes.supervision import supervise; supervise(); {run}"
    seen = [
        json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)
        for code in (run, supervised)
    ]
    assert seen[0] == seen[1]


SCRIPTS = [path for path in (PROJECT / "scripts").glob("*.py") if "supervised" in path.read_text()]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_rule_is_supervised_before_it_loads_anything_that_takes_long(path: Path) -> None:
    """A Snakemake that is killed meanwhile leaves no script behind that only starts."""
    [first] = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.With)]
    before = "".join(path.read_text().splitlines(keepends=True)[: first.lineno - 1])
    told = "import sys; print(*sys.modules, file=sys.stderr)\n"
    # Where there is a parser it has parsed nothing by then.
    text = before.replace("arguments = parser.parse_args()\n", "") + told
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"numpy", "pandas", "pyarrow", "pydantic", "numba", "yaml"}
