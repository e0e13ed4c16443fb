"""Commands that wait until they are told to go on: no test of a queue sleeps."""

import os
from pathlib import Path

from trimtab.execution.job_queue import QueuedJob
from trimtab.processes.stat import read_stat


class Gate:
    """A command that says that it has begun, with its process number, and waits to be let go."""

    def __init__(self, folder: Path, name: str, before: str = "") -> None:
        self._said, self._let_go = folder / f"{name}.said", folder / f"{name}.go"
        os.mkfifo(self._said)
        os.mkfifo(self._let_go)
        # Open both ways: neither side waits for the other to open, and nothing is lost.
        self._listen = os.open(self._said, os.O_RDWR)
        self._tell = os.open(self._let_go, os.O_RDWR)
        script = f'{before}\necho $$ > "$0"; read line < "$1"'
        self.command = ("/bin/bash", "-c", script, str(self._said), str(self._let_go))

    def hear(self) -> int:
        """Wait for the next line of the command: a process number."""
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self._listen, 1)
        return int(line)

    def let_go(self) -> None:
        os.write(self._tell, b"\n")


def alive(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and not stat.is_zombie


def queued(
    job: int, priority: int, command: tuple[str, ...] = ("true",), arrival_s: float = 0.0
) -> QueuedJob:
    return QueuedJob(job, f"class{priority}", priority, arrival_s, command)
