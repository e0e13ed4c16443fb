"""Hints for the user while a program runs long: it may be a server without a driver."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from trimtab.progress import tell
from trimtab.untrusted import UntrustedFileError, last_bytes_of

AFTER_S = 20.0
_LISTENS = "0A"  # TCP_LISTEN of Linux's include/net/tcp_states.h
_LONGEST_LINE_BYTES = 200  # of the last line, and of the blank lines after it
_OPTIONS = "`--ready PATTERN` or `--address {}` says when it is (YAML: `server.ready`, `.address`)"


class LongRun:
    """A run of `command`, examined after AFTER_S seconds and then at doubling intervals.

    It writes to `logs`. Two hints are given once: that a server is not ready, and how to declare a
    server if a program without a driver listens on a TCP port.
    """

    def __init__(self, command: Sequence[str], *, is_driven: bool, logs: Sequence[Path]) -> None:
        self._name, self._is_driven, self._due_s = Path(command[0]).name, is_driven, AFTER_S
        self._logs = logs

    def look(self, elapsed_s: float, pids: Iterable[int], waits_for: str | None) -> None:
        """Give the hints that apply to the processes; `waits_for` is why a server is not ready."""
        if elapsed_s < self._due_s:
            return
        self._due_s *= 2
        if self._is_driven and waits_for is None:
            return
        ports, name = sorted(listening_ports(pids)), self._name
        if self._is_driven:
            where = f"localhost:{ports[0]}" if ports else "HOST:PORT"
            words = f"{name} is not ready after {elapsed_s:.0f} s: {waits_for}"
            words += f"; it listens on port {_listed(ports)}" if ports else ""
            if line := _last_line_of(self._logs):
                words += f"; its last line is {line!r}"
            words += f"; {_OPTIONS.format(where)}"
        elif ports:
            words = (
                f"{name} has not ended after {elapsed_s:.0f} s and listens on port"
                f" {_listed(ports)}; where it is a server, `--drive COMMAND` uses it and then stops"
                f" it, and {_OPTIONS.format(f'localhost:{ports[0]}')}"
            )
        else:
            return
        self._due_s = float("inf")
        tell(words)


def listening_ports(pids: Iterable[int]) -> set[int]:
    """Return the TCP ports that processes listen on, from /proc/PID/net/tcp and tcp6."""
    ports: set[int] = set()
    for pid in pids:
        with suppress(OSError):  # it has ended, or belongs to another user
            sockets = _sockets_of(pid)
            for table in ("tcp", "tcp6") if sockets else ():
                for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                    fields = line.split()
                    if fields[3] == _LISTENS and fields[9] in sockets:
                        ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def _sockets_of(pid: int) -> set[str]:
    """Return the inodes of a process's open sockets."""
    sockets = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            kind, _, inode = os.readlink(entry.path).partition(":[")
            if kind == "socket":
                sockets.add(inode.removesuffix("]"))
    return sockets


def _last_line_of(logs: Sequence[Path]) -> str:
    """Return the last line that is not blank of the most recently written file, or ""."""
    with suppress(OSError, UntrustedFileError):  # the program moved the files
        latest = max(logs, key=lambda log: (log.stat().st_size > 0, log.stat().st_mtime_ns))
        end = last_bytes_of(latest, _LONGEST_LINE_BYTES).decode(errors="replace").rstrip()
        return "".join(end.splitlines()[-1:]).strip()
    return ""


def _listed(ports: list[int]) -> str:
    return ", ".join(map(str, ports))
