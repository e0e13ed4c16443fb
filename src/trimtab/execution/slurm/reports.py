"""Reports of jobs: when they start, end and are stopped, to the microsecond.

Slurm's own times are whole seconds, and it does not report events. So every job is a script that
writes one line to a named pipe at its start, at its command's end, and on SIGTERM. Slurm sends
SIGTERM before it requeues a job.
"""

import os
import select
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

# TRIMTAB_SERVICE_S tells the command its duration. By default it sleeps: the virtual nodes have
# more cores than the machine, so computing jobs would slow each other down.
WAIT = 'exec sleep "$TRIMTAB_SERVICE_S"'

# The command runs in the background, so bash handles SIGTERM before it has ended. A node's name is
# its type's name and a number.
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
    """The named pipe's reading end, in its own folder; close it after the last job."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        self._pipe = folder / "pipe"
        os.mkfifo(self._pipe)
        # Opened for both, so that it never ends while no job has it open.
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
        """Set the duration of that script's job on nodes of that type."""
        (self._folder / f"{name}.{node_type}").write_text(f"{service_s:.6f}\n")

    def wait(self, patience_s: float) -> list[JobReport]:
        """Return jobs' reports as soon as one arrives; empty after `patience_s`."""
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
