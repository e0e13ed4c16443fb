"""Which files a run used: how it is started under the file tracer, and the record read back."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from trimtab.errors import UserError
from trimtab.native import native_path

USES = frozenset(
    {
        "read",
        "write",  # also created, renamed, removed, or its attributes changed
        "execute",
        "map",
        "map_execute",
        "stat",  # looked at, or opened as a directory, or refused
        "readlink",
        "list",
        "missing",  # looked up while absent
        "link",  # a symbolic link that led to another path
    }
)


@dataclass(frozen=True)
class FileUse:
    """A path as it was looked up, and the ways in which the processes of a run used it.

    `path` is absolute, without `.` and `..`, its symbolic links unresolved. `real_path` has them
    resolved, the last one too unless only the link itself was used; it is None where no look-up
    succeeded. Every real path is an entry of its own with the same uses.
    """

    path: str
    real_path: str | None
    uses: frozenset[str]


@dataclass(frozen=True)
class TracedProcess:
    """A program as one process ran it; a process that calls exec is several.

    `end` says how it ended: `exit` with its exit code in `status`, `killed` by the signal in
    `status`, `exec` when the process went on with another program (`status` is None), `unknown`
    when the record ends before. `executable` is the real path, empty if it could not be read.
    """

    pid: int
    parent_pid: int
    executable: str
    end: Literal["exit", "exec", "killed", "unknown"]
    status: int | None


@dataclass(frozen=True)
class FileTrace:
    """The files and processes of a run, sorted by path and in order of start.

    `complete` is false when something may be missing from `files`; `incomplete_because` says what,
    one reason an element. `exit_status` is the command's as a shell gives it (128 + signal), None
    when the record has no end.
    """

    files: tuple[FileUse, ...]
    processes: tuple[TracedProcess, ...]
    complete: bool
    incomplete_because: tuple[str, ...]
    exit_status: int | None


def tracing_command(command: Sequence[str], record: Path) -> tuple[str, ...]:
    """Return `command` run by the file tracer, which writes the log `record`.

    It ends as the command does, by the same signal too, with 125 when it cannot trace, and with
    126 or 127 when the command cannot be started (native/file_tracer/record.h).
    """
    return (str(native_path("trimtab-file-tracer")), str(record.resolve()), "--", *command)


def _lines(record: Path) -> Iterator[dict[str, Any]]:
    """Yield the record's lines; a last one that was cut off is left out."""
    try:
        content = record.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{record}: no such record of a file trace") from None
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            # Paths are bytes; those that are not UTF-8 become what os.fsdecode makes of them.
            document = json.loads(line.decode("utf-8", "surrogateescape"))
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise UserError(f"{record}: line {number}: not a line of a file trace") from None
        yield document


def read_file_trace(record: Path) -> FileTrace:
    """Return the trace that the file tracer wrote to `record`.

    The format is described in `native/file_tracer/record.h`. A record without its last line, as
    of a tracer that was killed, gives a trace that is not complete. Raises UserError when the
    file is missing or is no such record.
    """
    uses: dict[str, set[str]] = {}
    real_paths: dict[str, str | None] = {}
    processes: list[TracedProcess] = []
    running: dict[int, int] = {}  # pid -> its latest index in `processes`
    reasons: list[str] = []
    exit_status: int | None = None
    try:
        for line in _lines(record):
            if "path" in line:
                uses.setdefault(line["path"], set()).update(line["uses"])
                if not USES.issuperset(line["uses"]):
                    raise KeyError(line["uses"])
                real_paths[line["path"]] = line["real"]
            elif "process" in line:
                running[line["process"]] = len(processes)
                processes.append(_started(line["process"], line["parent"], line["executable"]))
            elif "exec" in line:
                index = running[line["exec"]]
                before = processes[index]
                processes[index] = replace(before, end="exec")
                running[before.pid] = len(processes)
                processes.append(_started(before.pid, before.parent_pid, line["executable"]))
            elif "ended" in line:
                index = running.pop(line["ended"])
                processes[index] = (
                    replace(processes[index], end="killed", status=line["signal"])
                    if "signal" in line
                    else replace(processes[index], end="exit", status=line["exit"])
                )
            elif "incomplete" in line or "error" in line:
                reasons.append(line.get("incomplete") or line["error"])
            else:
                exit_status = line["exit"] if line["end"] else None
    except (KeyError, TypeError) as error:
        raise UserError(f"{record}: not a record of a file trace: {error!r}") from None
    if exit_status is None:
        reasons.append("the record has no end: the tracer was killed or its disk was full")
    reasons.extend(
        f"it is not known how process {processes[index].pid} ended" for index in running.values()
    )
    files = (FileUse(path, real_paths[path], frozenset(uses[path])) for path in sorted(uses))
    return FileTrace(tuple(files), tuple(processes), not reasons, tuple(reasons), exit_status)


def _started(pid: int, parent_pid: int, executable: str) -> TracedProcess:
    return TracedProcess(pid, parent_pid, executable, "unknown", None)
