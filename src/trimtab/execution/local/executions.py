"""One execution of a command: a session of processes that starts, ends or is killed as a whole.

A process belongs to an execution if it is in the session of its first process or if it carries the
execution's mark in its environment, which every descendant inherits, also one that leaves the
session and loses its parent. One that also clears its environment escapes.
"""

import os
import select
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from trimtab.profiling.meters.processes import Stat, environment_of, read_stat

_PROC = Path("/proc")
_MARK = "TRIMTAB_EXECUTION"
_KILL_PATIENCE_S = 10.0
CANNOT_START = 127  # a shell's exit code for a command that it does not find


def living(mark: str, session: int = -1) -> list[Stat]:
    """Return the living processes of `session` or with `mark` (NAME=value), oldest first."""
    wanted = b"\0" + mark.encode() + b"\0"
    found = []
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit() or (stat := read_stat(int(entry.name))) is None:
            continue
        if stat.is_zombie:
            continue
        if stat.session == session or wanted in environment_of(stat.pid):
            found.append(stat)
    return sorted(found, key=lambda stat: (stat.start_ticks, stat.pid))


def kill(mark: str, session: int = -1) -> dict[int, float]:
    """Kill what `living` finds until nothing is found; return the CPU seconds of each process.

    A parent goes before its children, so that none of them is counted twice: in its own seconds
    and in those of a parent that waited for it.
    """
    cpu_s: dict[int, float] = {}
    deadline = time.monotonic() + _KILL_PATIENCE_S
    while (found := living(mark, session)) and time.monotonic() < deadline:
        dying = select.poll()
        with ExitStack() as stack:
            awaited = 0
            for stat in found:
                cpu_s.setdefault(stat.pid, stat.cpu_s + stat.reaped_cpu_s)
                with suppress(ProcessLookupError):
                    process = os.pidfd_open(stat.pid)
                    stack.callback(os.close, process)
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    dying.register(process, select.POLLIN)
                    awaited += 1
            if awaited:  # the first that is dead; the others are found again, if alive
                dying.poll(max(0.0, deadline - time.monotonic()) * 1000)
    return cpu_s


def new_mark(name: str) -> str:
    """Return an entry for the environment that no other process carries."""
    return f"{name}={uuid.uuid4().hex}"


class Execution:
    """A command that runs; `fileno()` becomes readable when its first process has ended.

    Standard output and error replace the two files; standard input is empty. Raises OSError when
    the command cannot be started.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], stdout: Path, stderr: Path
    ) -> None:
        self.mark = new_mark(_MARK)
        name, _, value = self.mark.partition("=")
        try:
            with stdout.open("wb") as out, stderr.open("wb") as err:
                process = subprocess.Popen(
                    command,
                    env={**environment, name: value},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
        except BaseException:  # an interrupt may come when the process is there already
            kill(self.mark)
            raise
        process.returncode = 0  # `end` waits for it, with wait4
        self.pid = process.pid
        self._exit_fd = os.pidfd_open(self.pid)

    def fileno(self) -> int:
        """Return the process' pidfd (pidfd_open(2)), for selectors."""
        return self._exit_fd

    def processes(self) -> list[Stat]:
        """Return its living processes, oldest first."""
        return living(self.mark, self.pid)

    def end(self) -> tuple[int, float]:
        """Kill whatever of it is alive; return the exit code and the CPU seconds of all of it.

        A code below 0 is the number of the signal that ended the first process. Processes that
        ended earlier and that nobody in the execution waited for are missing from the seconds.
        """
        others = kill(self.mark, self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self._exit_fd)
        cpu_s = usage.ru_utime + usage.ru_stime
        cpu_s += sum(seconds for pid, seconds in others.items() if pid != self.pid)
        return os.waitstatus_to_exitcode(status), cpu_s
