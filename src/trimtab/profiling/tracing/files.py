"""Start a run under the file tracer, and read its record."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from trimtab.errors import UserError
from trimtab.native import native_path
from trimtab.untrusted import UntrustedFileError, is_plain_path, lines_of_untrusted, remove_existing

USES = frozenset(
    {
        "read",
        "write",  # also created, renamed, removed, or its attributes changed
        "execute",
        "map",
        "map_execute",
        "stat",  # looked up, or opened as a directory, or refused
        "readlink",
        "list",
        "missing",  # looked up but missing
        "link",  # a symbolic link that led to another path
    }
)

# A program that reads the 1,281,167 images of ImageNet leaves a line for each.
_MOST_LINES = 3_000_000
_MOST_BYTES = 1 << 30
_LONGEST_REASON, _MOST_REASONS = 10_000, 100
_WITNESS = "fanotify"
_MOST_OWN_CALLS = 1000  # of a program that writes programs and runs them
_LARGEST_PID = 1 << 22  # PID_MAX_LIMIT of 64-bit Linux


@dataclass(frozen=True, slots=True)
class FileUse:
    """A path as it was looked up, and how the processes of a run used it.

    `path` is absolute, without `.` and `..`, its symbolic links unresolved. `real_path` has them
    resolved, the last one too unless only the link itself was used; it is None if no look-up
    succeeded. Every real path is also an entry with the same uses.
    """

    path: str
    real_path: str | None
    uses: frozenset[str]


@dataclass(frozen=True)
class TracedProcess:
    """A program that one process ran; a process that calls exec is several programs.

    `end` is `exit` with the exit code in `status`, or `killed` with the signal. It is `exec` if
    another program followed, and `unknown` if the record ends before; then `status` is None.
    `executable` is the real path, "" if it could not be read.
    """

    pid: int
    parent_pid: int
    executable: str
    end: Literal["exit", "exec", "killed", "unknown"]
    status: int | None


@dataclass(frozen=True)
class FileTrace:
    """The files and processes of a run, sorted by path and in order of start.

    `complete` is false if `files` may lack something; `incomplete_because` has the reasons, and
    `told` the reasons that the tracer noticed. `exit_status` is the command's as a shell returns it
    (128 + signal), None if the record has no end. `witnessed` is the number of opened files that
    fanotify reported, None if it may not be used. `witnessed_only` are the paths of files without a
    traced open. `own_calls` are the files whose code made system calls on files without glibc, the
    first 1,000 by name. For code in anonymous memory it is the program, or `/` if that is gone.
    """

    files: tuple[FileUse, ...]
    processes: tuple[TracedProcess, ...]
    complete: bool
    incomplete_because: tuple[str, ...]
    exit_status: int | None
    told: tuple[str, ...] = ()
    witnessed: int | None = None
    witnessed_only: tuple[str, ...] = ()
    own_calls: tuple[str, ...] = ()


def tracing_command(command: Sequence[str], record: Path) -> tuple[str, ...]:
    """Return `command` run by the file tracer, which replaces the log `record`.

    It ends as the command does, even by the same signal. It returns 125 if it cannot trace, and 126
    or 127 if the command cannot be started (native/file_tracer/record.h).
    """
    remove_existing(record)
    return (str(native_path("trimtab-file-tracer")), str(record.resolve()), "--", *command)


class _RecordError(ValueError):
    """A line is not from the file tracer; the message says what is wrong with it."""


def _lines(record: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the record's lines with their numbers, without an incomplete last line."""
    lines = lines_of_untrusted(record, _MOST_BYTES, _MOST_LINES)
    for number, line in enumerate(lines, start=1):
        try:
            # Paths are bytes; invalid UTF-8 is decoded as by os.fsdecode.
            document = json.loads(line.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise UserError(f"{record}: line {number}: not a line of a file trace")
        yield number, document


def read_file_trace(record: Path) -> FileTrace:
    """Return the trace that the file tracer wrote to `record`.

    `native/file_tracer/record.h` describes the format. A record without its last line, as after the
    tracer was killed, gives an incomplete trace; so does one of more than 3,000,000 lines or a GiB.
    Raises UserError if the file is missing or no such record.
    """
    trace = _Reading()
    try:
        for number, line in _lines(record):
            try:
                trace.add(line)
            except _RecordError as error:
                raise UserError(
                    f"{record}: line {number}: not a record of a file trace: {error}"
                ) from None
    except FileNotFoundError:
        raise UserError(f"{record}: no such record of a file trace") from None
    except UntrustedFileError as error:
        trace.reasons.append(str(error))
    return trace.result()


class _Reading:
    """The trace so far, while its record is read."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self._uses: dict[str, frozenset[str]] = {}
        self._real_paths: dict[str, str | None] = {}
        self._processes: list[TracedProcess] = []
        self._running: dict[int, int] = {}  # pid -> its latest index in `_processes`
        self._exit_status: int | None = None
        self._witnessed: int | None = None
        self._witnessed_only: list[str] = []
        self._own_calls: set[str] = set()
        self._every_use: dict[frozenset[str], frozenset[str]] = {}  # each stored once

    def add(self, line: dict[str, Any]) -> None:
        """Add a line. Raises _RecordError for a line that the tracer never writes."""
        if "path" in line:
            self._add_use(line)
        elif "own_calls" in line:
            self._own_calls.add(_path(line, "own_calls"))
        elif "process" in line:
            self._start(_pid(line, "process"), _pid(line, "parent"), line)
        elif "exec" in line:
            before = self._replaced(_pid(line, "exec"), end="exec")
            self._start(before.pid, before.parent_pid, line)
        elif "ended" in line:
            pid = _pid(line, "ended")
            if "signal" in line:
                self._replaced(pid, end="killed", status=_number(line, "signal", 64))
            else:
                self._replaced(pid, end="exit", status=_number(line, "exit", 255))
            del self._running[pid]
        elif "incomplete" in line or "error" in line:
            reason = line.get("incomplete", line.get("error"))
            if not isinstance(reason, str) or not 0 < len(reason) <= _LONGEST_REASON:
                raise _RecordError("a reason that is none")
            self.reasons.append(reason)
        elif line.get("witness") == _WITNESS:
            self._witnessed = _number(line, "files", _MOST_LINES)
        elif line.get("end") is True:
            self._exit_status = _number(line, "exit", 255)
        else:
            raise _RecordError("unknown words")

    def result(self) -> FileTrace:
        """Return the trace; a missing end of the record makes it incomplete."""
        told = tuple(self.reasons[:_MOST_REASONS])
        reasons = list(told)
        if self._exit_status is None:
            reasons.append("the record has no end: the tracer was killed or its disk was full")
        unknown = [self._processes[index].pid for index in self._running.values()]
        reasons.extend(
            f"it is not known how process {pid} ended" for pid in unknown[:_MOST_REASONS]
        )
        files = (
            FileUse(path, self._real_paths[path], self._uses[path]) for path in sorted(self._uses)
        )
        return FileTrace(
            tuple(files),
            tuple(self._processes),
            not reasons,
            tuple(reasons),
            self._exit_status,
            told,
            self._witnessed,
            tuple(self._witnessed_only),
            tuple(sorted(self._own_calls)[:_MOST_OWN_CALLS]),
        )

    def _add_use(self, line: dict[str, Any]) -> None:
        path, real_path, uses = _path(line, "path"), line.get("real", ""), line.get("uses")
        if not (real_path is None or is_plain_path(real_path)):
            raise _RecordError("no path")
        if not isinstance(uses, list) or not all(isinstance(use, str) for use in uses):
            raise _RecordError("no uses")
        if not USES.issuperset(uses):
            raise _RecordError("a use that is unknown")
        united = self._uses.get(path, frozenset()).union(uses)
        self._uses[path] = self._every_use.setdefault(united, united)
        self._real_paths[path] = path if real_path == path else real_path
        if line.get("witness") == _WITNESS:
            self._witnessed_only.append(path)

    def _start(self, pid: int, parent_pid: int, line: dict[str, Any]) -> None:
        executable = line.get("executable")
        if executable != "" and not is_plain_path(executable):
            raise _RecordError("no path of a program")
        self._running[pid] = len(self._processes)
        process = TracedProcess(pid, parent_pid, str(executable), "unknown", None)
        self._processes.append(process)

    def _replaced(self, pid: int, **changes: Any) -> TracedProcess:
        if pid not in self._running:
            raise _RecordError(f"process {pid} was never started")
        index = self._running[pid]
        self._processes[index] = replace(self._processes[index], **changes)
        return self._processes[index]


def _number(line: dict[str, Any], key: str, largest: int) -> int:
    value = line.get(key)
    if type(value) is not int or not 0 <= value <= largest:
        raise _RecordError(f"{key}: no number from 0 to {largest}")
    return value


def _path(line: dict[str, Any], key: str) -> str:
    path = line[key]
    if not is_plain_path(path):
        raise _RecordError("no path")
    return str(path)


def _pid(line: dict[str, Any], key: str) -> int:
    return _number(line, key, _LARGEST_PID)
