"""Ending programs with all that they have started.

A process is found by the session of a first process, or by a mark in its environment, which every
descendant inherits, also one that leaves the session and loses its parent. One that also clears its
environment escapes.
"""

import errno
import os
import select
import signal
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from trimtab.processes.stat import Stat, environment_of, family_of, living_processes

_KILL_PATIENCE_S = 10.0
_POLL_S = 0.001  # where no process can be waited for
_FAMILY_POLL_S = 0.02  # a look at all processes takes milliseconds


def new_mark(name: str) -> str:
    """Return an entry for the environment that no other process carries."""
    return f"{name}={uuid.uuid4().hex}"


def living(mark: str | None, session: int = -1) -> list[Stat]:
    """Return the living processes of `session` or with `mark` (NAME=value), oldest first."""
    wanted = None if mark is None else b"\0" + mark.encode() + b"\0"
    found = [
        stat
        for stat in living_processes()
        if stat.session == session or (wanted is not None and wanted in environment_of(stat.pid))
    ]
    return sorted(found, key=lambda stat: (stat.start_ticks, stat.pid))


def kill(mark: str | None, session: int = -1) -> dict[int, float]:
    """Kill what `living` finds until nothing is found; return the CPU seconds of each process.

    A parent goes before its children, so that none of them is counted twice: in its own seconds
    and in those of a parent that waited for it.
    """
    killed = kill_all(lambda: living(mark, session))
    return {stat.pid: stat.cpu_s + stat.reaped_cpu_s for stat in killed}


def kill_all(find: Callable[[], Sequence[Stat]]) -> list[Stat]:
    """Kill what `find` finds in its order, until it finds nothing; return each as first found.

    What is stuck in the kernel is left after 10 s: nothing more can be done.
    """
    first: dict[tuple[int, int], Stat] = {}
    deadline = time.monotonic() + _KILL_PATIENCE_S
    while (found := find()) and time.monotonic() < deadline:
        dying, awaited = select.poll(), 0
        with ExitStack() as stack:
            for stat in found:
                first.setdefault((stat.pid, stat.start_ticks), stat)
                with suppress(ProcessLookupError):
                    process = _pidfd(stat.pid)
                    if process is None:
                        os.kill(stat.pid, signal.SIGKILL)
                        continue
                    stack.callback(os.close, process)
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    dying.register(process, select.POLLIN)
                    awaited += 1
            # The first that is dead; the others are found again, if alive.
            wait_s = max(0.0, deadline - time.monotonic()) if awaited else _POLL_S
            dying.poll(wait_s * 1000)
    return list(first.values())


def end_family(pid: int, patience_s: float) -> None:
    """End a process and its descendants by SIGTERM; kill what lives after `patience_s`."""
    family = {(stat.pid, stat.start_ticks) for stat in family_of(pid)}

    def alive() -> list[Stat]:
        return [stat for stat in living_processes() if (stat.pid, stat.start_ticks) in family]

    for stat in alive():
        with suppress(ProcessLookupError):
            os.kill(stat.pid, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while alive() and time.monotonic() < deadline:
        time.sleep(_FAMILY_POLL_S)
    kill_all(alive)


def _pidfd(pid: int) -> int | None:
    """Return the pidfd of a process; None before Linux 5.3, if refused, or with too many files."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EMFILE, errno.ENFILE):
            raise
        return None
