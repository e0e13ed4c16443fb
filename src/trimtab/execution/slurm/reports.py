"""What jobs say of themselves: when they start, end and are stopped, to the microsecond.

Slurm's own times are whole seconds, and it tells nobody when they come. So every job is a script
that writes one line to a named pipe when it starts, when its command has ended, and when SIGTERM
stops it, which is what Slurm sends before it requeues a job.
"""

import os
import select
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

# The command reads how long it is to take in TRIMTAB_SERVICE_S. By default it waits: the virtual
# nodes have more cores than the machine, so jobs that really computed would slow each other down.
WAIT = 'exec sleep "$TRIMTAB_SERVICE_S"'

# The command is in the background, so that bash hears SIGTERM before it has ended. A node's name
# is its type's and a number.
_SCRIPT = """#!/bin/bash
say() {{
    printf '%s\\n' "$1 $SLURM_JOB_ID $SLURMD_NODENAME $2 ${{EPOCHREALTIME/,/.}}" > {pipe}
}}
trap 'say stopped 0; exit 143' TERM
say started 0
export TRIMTAB_SERVICE_S=$(cat {service}."${{SLURMD_NODENAME%-*}}")
/bin/sh -c {command} &
wait $!
say ended $?
"""


@dataclass(frozen=True, slots=True)
class JobReport:
    """One line of a job: `kind` is started, ended or stopped; `time_s` since the epoch."""

    kind: str
    job: int
    node: str
    exit_code: int
    time_s: float


class Reports:
    """The named pipe's reading end, in a folder of its own; close it when no job runs any more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        self._pipe = folder / "pipe"
        os.mkfifo(self._pipe)
        # Open both ways, so that it is never at its end when no job has it open.
        self._fd = os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""

    def script(self, name: str, command: str) -> str:
        """Return the batch script that runs the shell command `command` and reports on it."""
        return _SCRIPT.format(
            pipe=quote(str(self._pipe)),
            service=quote(str(self._folder / name)),
            command=quote(command),
        )

    def set_service_s(self, name: str, node_type: str, service_s: float) -> None:
        """Say how long the job of that script takes when it starts on a node of that type."""
        (self._folder / f"{name}.{node_type}").write_text(f"{service_s:.6f}\n")

    def wait(self, patience_s: float) -> list[JobReport]:
        """Return what jobs have said, as soon as one says something; nothing if none does."""
        readable, _, _ = select.select([self._fd], [], [], max(0.0, patience_s))
        if not readable:
            return []
        *lines, self._rest = (self._rest + os.read(self._fd, 1 << 16)).split(b"\n")
        return [_parse(line.decode()) for line in lines]

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._fd)


def _parse(line: str) -> JobReport:
    kind, job, node, exit_code, time_s = line.split()
    return JobReport(kind, int(job), node, int(exit_code), float(time_s))
