"""Which processes belong to a run, and what happens to those that try to get away."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.processes.program import Program
from trimtab.processes.stat import parse_stat, read_stat
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run

HARDWARE = HardwareModel("test_machine", 2, 2.0, 10.0, 0.5, 4.0, 0.2, "a test")
PRELUDE = """
import os, signal, time
def burn(s):
    end = time.process_time() + s
    while time.process_time() < end: pass
"""


def measure(folder: Path, code: str, timeout_s: float = 60.0) -> MeasuredRun:
    command = (sys.executable, "-S", "-c", PRELUDE + code)
    program = Program(command, folder, dict(os.environ), timeout_s)
    return measure_run(
        program, condition="original", repeat=0, hardware=HARDWARE, log_dir=folder / "log"
    )


@pytest.mark.parametrize("name", ["python", "a b", "x) R 1 (", "((", ""])
def test_names_that_look_like_fields(name: str) -> None:
    tail = "S 7 8 9 0 -1 4194560 11 12 13 14 100 50 25 75 20 0 1 0 4242 1 2 3"
    stat = parse_stat(f"123 ({name}) {tail}")
    assert (stat.pid, stat.parent, stat.session, stat.start_ticks) == (123, 7, 9, 4242)
    assert (stat.minor_faults, stat.reaped_minor_faults) == (11, 12)
    assert (stat.major_faults, stat.reaped_major_faults) == (13, 14)
    ticks = os.sysconf("SC_CLK_TCK")
    assert (stat.cpu_s, stat.reaped_cpu_s) == (150 / ticks, 100 / ticks)


def test_this_process_as_it_knows_itself() -> None:
    stat = read_stat(os.getpid())
    assert stat is not None
    assert (stat.parent, stat.session) == (os.getppid(), os.getsid(0))


def test_a_daemon_of_the_run_counts(tmp_path: Path) -> None:
    """A grandchild that left the session and lost its parent is still the run's."""
    run = measure(
        tmp_path,
        "r, w = os.pipe()\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    if not os.fork(): burn(0.4); os.write(w, b'1')\n"
        "    os._exit(0)\n"
        "os.wait(); os.read(r, 1)\n",
    )
    assert 0.4 <= run.counts["cpu_s"] < 0.8


def test_children_that_nobody_waits_for_count(tmp_path: Path) -> None:
    """The kernel keeps no sum of them: their last values seen are taken."""
    run = measure(
        tmp_path,
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "r, w = os.pipe()\n"
        "if not os.fork(): burn(1.0); os._exit(0)\n"
        "os.close(w); os.read(r, 1)\n",
    )
    assert 0.15 < run.counts["cpu_s"] < 1.6  # a busy machine looks rarely; without: below 0.1


def test_a_process_left_behind_is_ended_and_told(tmp_path: Path) -> None:
    run = measure(
        tmp_path,
        "if not os.fork():\n"
        "    os.setsid(); open('pid', 'w').write(str(os.getpid())); signal.pause()\n"
        "while not os.path.exists('pid') or not open('pid').read(): pass\n",
    )
    assert run.failure is None and run.left_behind == 1
    assert read_stat(int((tmp_path / "pid").read_text())) is None


GOES_ON = (
    "import ctypes, threading\n"
    "open('pid', 'w').write(str(os.getpid()))\n"
    "threading.Thread(target=lambda: [signal.pause() for _ in iter(int, 1)]).start()\n"
    "ctypes.CDLL(None).syscall(60, 0)\n"  # exit(2): of the first thread alone
)


def test_a_process_whose_first_thread_ended_is_no_ended_one(tmp_path: Path) -> None:
    """The system calls it a zombie; its other threads go on, past the limit of the run too."""
    run = measure(tmp_path, GOES_ON, timeout_s=1.0)
    assert run.timed_out
    assert read_stat(int((tmp_path / "pid").read_text())) is None
    daemon = "    ".join(GOES_ON.splitlines(keepends=True))
    waits = "while not os.path.exists('pid') or not open('pid').read(): pass\n"
    run = measure(
        tmp_path, f"os.remove('pid')\nif not os.fork():\n    os.setsid()\n    {daemon}{waits}"
    )
    assert run.failure is None and run.left_behind == 1
    assert read_stat(int((tmp_path / "pid").read_text())) is None


def test_pages_that_forked_workers_share_count_once(tmp_path: Path) -> None:
    run = measure(
        tmp_path,
        "held = bytearray(b'1') * (200 << 20)\n"
        "workers = [pid for _ in range(4) if (pid := os.fork() or (time.sleep(1), os._exit(0)))]\n"
        "for pid in workers: os.waitpid(pid, 0)\n",
    )
    assert 200 << 20 <= run.peak_rss_bytes < 300 << 20


def test_the_memory_of_the_measuring_process_is_not_the_runs(tmp_path: Path) -> None:
    """A child inherits its parent's peak in ru_maxrss; it must not be taken for its own."""
    held = bytearray(b"1") * (400 << 20)
    run = measure(tmp_path, "time.sleep(0.2)")
    assert len(held) and run.peak_rss_bytes < 100 << 20


def test_a_session_that_began_outside_a_container_is_not_the_run_s() -> None:
    """Its number there is 0, of which is every other process that was started there, too."""
    code = (
        "import os, subprocess, sys\n"
        "from trimtab.processes.run_processes import RunProcesses\n"
        "assert os.getsid(0) == 0\n"
        "processes = RunProcesses('TRIMTAB_TEST_MARK=1')\n"
        "wait, pipe = [sys.executable, '-c', 'print(input(1))'], subprocess.PIPE\n"
        "other = subprocess.Popen(wait, stdin=pipe, stdout=pipe)\n"
        "marked = os.environ | {'TRIMTAB_TEST_MARK': '1'}\n"
        "own = subprocess.Popen(wait, stdin=pipe, stdout=pipe, env=marked)\n"
        "assert other.stdout.read(1) == own.stdout.read(1) == b'1'  # both run, with their mark\n"
        "print([stat.pid for stat in processes.living()] == [own.pid])\n"
        "other.kill(), own.kill()\n"
    )
    apart = [shutil.which("unshare") or "unshare", "--user", "--map-root-user", "--pid", "--fork"]
    apart.append("--mount-proc")
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("no namespace of processes may be made here")
    done = subprocess.run([*apart, sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
