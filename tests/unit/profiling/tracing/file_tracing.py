"""Run a command under the file tracer and read what it recorded."""

import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from trimtab.errors import TrimtabError, UserError
from trimtab.profiling.tracing.files import FileTrace, _lines, read_file_trace, tracing_command

_TRACER_FAILED = 125
_GRACE_S = 10.0


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
    record.unlink(missing_ok=True)
    with ExitStack() as stack:
        process = subprocess.Popen(
            tracing_command(command, record),
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
    error = next((line for _, line in _lines(record) if "error" in line), None)
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
