"""Which files a command uses: the file tracer's runs and its records."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from trimtab.errors import TrimtabError, UserError
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

# What the tracer exits with when it, or the command, cannot start (native/file_tracer/record.h).
_TRACER_FAILED = 125

_GRACE_S = 10.0


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


def trace_files(
    command: list[str],
    *,
    workdir: Path,
    environment: Mapping[str, str],
    record: Path,
    stdout: Path | None = None,
    stderr: Path | None = None,
    timeout_s: float | None = None,
) -> FileTrace:
    """Run `command` and return which files its processes used; the log stays in `record`.

    The run ends when the last of its processes does. Output goes to the files `stdout` and
    `stderr`, or where this process' goes if None. After `timeout_s` seconds the run is ended and
    its trace is not complete. Raises UserError when the command cannot be started, TrimtabError
    when it cannot be traced.
    """
    if not command:
        raise UserError("no command to trace: give a program and its arguments")
    if not workdir.is_dir():
        raise UserError(f"{workdir}: not a directory; the command cannot be run there")
    record.parent.mkdir(parents=True, exist_ok=True)
    tracer = native_path("trimtab-file-tracer")
    record.unlink(missing_ok=True)
    with ExitStack() as stack:
        process = subprocess.Popen(
            [tracer, record.resolve(), "--", *command],
            cwd=workdir,
            env=dict(environment),
            stdout=stack.enter_context(stdout.open("wb")) if stdout else None,
            stderr=stack.enter_context(stderr.open("wb")) if stderr else None,
        )
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
        except BaseException:
            _end(process)
            raise
    if not record.is_file():
        raise TrimtabError(f"{record}: the file tracer could not write its record there")
    error = next((line for line in _lines(record) if "error" in line), None)
    if error is not None:
        kind = TrimtabError if error["exit"] == _TRACER_FAILED else UserError
        raise kind(str(error["error"]))
    return read_file_trace(record)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the tracer and what it traces: politely, then by SIGKILL."""
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()  # the kernel kills what was traced
        process.wait()


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
