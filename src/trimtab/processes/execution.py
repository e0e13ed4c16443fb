"""One execution of a command: a session of processes that starts, ends or is killed as a whole."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from trimtab.processes.ending import kill, living, new_mark
from trimtab.processes.stat import Stat

_MARK = "TRIMTAB_EXECUTION"
CANNOT_START = 127  # a shell's exit code for a missing command


class Execution:
    """A running command; `fileno()` becomes readable when its first process has ended.

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
        """Kill its live processes; return the exit code and the CPU seconds of all.

        A code below 0 is the number of the signal that ended the first process. The seconds lack
        processes that ended earlier without a parent waiting for them.
        """
        others = kill(self.mark, self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self._exit_fd)
        cpu_s = usage.ru_utime + usage.ru_stime
        cpu_s += sum(seconds for pid, seconds in others.items() if pid != self.pid)
        return os.waitstatus_to_exitcode(status), cpu_s
