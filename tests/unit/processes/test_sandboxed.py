"""Where a sandbox or an old system refuses calls: something else does, or a word says what."""

import errno
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_supervision import LIMIT_S, SCRIPT, SLEEP, start

from trimtab.errors import UserError, check_working_folder

# Of x86-64, where the filters are for.
CALLS = {"pidfd_open": 434, "signalfd4": 289, "setsid": 112, "renameat2": 316}
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of its calls")
# Runs a command for which a call is refused, as seccomp filters of containers do it.
REFUSE = """
import ctypes, os, struct, sys
libc, (number, error) = ctypes.CDLL(None), map(int, sys.argv[1:3])
steps = (0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 | error), (6, 0, 0, 0x7FFF0000)
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = struct.pack("HP", len(steps), ctypes.addressof(code))
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def refusing(call: str, number: int) -> list[str]:
    return [sys.executable, "-c", REFUSE, str(CALLS[call]), str(number)]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize("role", ["outer", "inner", "script"])
def test_nothing_outlives_it_without_pidfd_open(role: str, number: int) -> None:
    script = start(SLEEP, *refusing("pidfd_open", number))
    os.kill(script.roles[role], signal.SIGKILL)
    assert script.ends()
    script.process.communicate(timeout=LIMIT_S)
    os.close(script.alive)


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
def test_programs_are_killed_without_pidfd_open(number: int) -> None:
    text = "import subprocess; from trimtab.processes.ending import kill, living, new_mark\n"
    text += "mark = new_mark('TRIMTAB_TEST'); entry = dict([mark.split('=')])\n"
    text += "child = subprocess.Popen(['sh', '-c', 'sleep 1000 & sleep 1000'], env=entry)\n"
    text += "print(len(kill(mark)) > 0, child.wait(), living(mark))"
    command = [*refusing("pidfd_open", number), sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.stdout == "True -9 []\n", done.stderr


@pytest.mark.parametrize(
    ("call", "code", "word"), [("signalfd4", 125, "signalfd"), ("setsid", 71, "cannot be started")]
)
def test_what_supervision_needs_is_named(call: str, code: int, word: str) -> None:
    command = [*refusing(call, errno.EPERM), sys.executable, "-c", SCRIPT.format(then="pass"), "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.returncode == code and word in done.stderr
    assert "Traceback" not in done.stderr


def test_names_are_exchanged_in_two_steps_without_renameat2(tmp_path: Path) -> None:
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    text = "import sys; from pathlib import Path; from trimtab.files import replace_folder\n"
    text += "replace_folder(*map(Path, sys.argv[1:]))"
    words = [sys.executable, "-c", text, str(tmp_path / "new"), str(tmp_path / "old")]
    subprocess.run([*refusing("renameat2", errno.EPERM), *words], check=True)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == [
        "old",
        "old/new",
    ]


def test_children_are_waited_for_where_sigchld_was_ignored() -> None:
    text = "import os, subprocess, sys; from trimtab.processes.supervision import supervised\n"
    text += "with supervised():\n    sys.exit(subprocess.run(['sh', '-c', 'exit 7']).returncode)"
    ignoring = ["env", "--ignore-signal=CHLD", sys.executable, "-c", text]
    assert subprocess.run(ignoring, timeout=20).returncode == 7


def test_a_working_directory_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_working_folder()
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UserError, match="working directory was removed"):
        check_working_folder()


def test_more_processes_than_open_files_are_ended() -> None:
    """Without descriptors for all of them they are killed by number."""
    program = """
import os, resource, subprocess, sys
from trimtab.processes.ending import kill_all
from trimtab.processes.stat import living_processes
children = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            for _ in range(30)]
pids = {child.pid for child in children}
used = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (used + 8, used + 8))
kill_all(lambda: [stat for stat in living_processes() if stat.pid in pids])
print({child.wait() for child in children})
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "{-9}\n", done.stderr
