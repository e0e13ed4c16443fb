"""Why a trial's program ended by itself, from its exit code and standard error."""

import re
import signal
from pathlib import Path

from trimtab.errors import escape_control_characters
from trimtab.processes.program import ended
from trimtab.tuning.trials.events import EndReason
from trimtab.untrusted import last_bytes_of

_LAST_BYTES = 4096
_LONGEST_LINE = 300
# Of Python, NumPy, PyTorch on CPUs and GPUs, C++ and C.
_NO_MEMORY = re.compile(
    r"MemoryError|Unable to allocate|OutOfMemoryError|out of memory|can't allocate memory"
    r"|std::bad_alloc|Cannot allocate memory"
)


def ending(
    exit_code: int,
    expected: frozenset[int],
    stderr: Path,
    *,
    limit_struck: bool,
    machine_struck: bool,
) -> tuple[EndReason, str]:
    """Return why a run ended by itself, with a message of one line.

    `limit_struck`: the kernel killed processes for the trial's memory limit; `machine_struck`: it
    killed some for the machine's memory.
    """
    if exit_code in expected:
        return EndReason.FINISHED, ended(exit_code)
    last = last_lines(stderr)
    said = f"{ended(exit_code)}: {last[-1]}" if last else ended(exit_code)
    if limit_struck:
        return EndReason.OUT_OF_MEMORY, f"was killed for its limit of memory; {said}"
    if any(_NO_MEMORY.search(line) for line in last):
        return EndReason.OUT_OF_MEMORY, f"was refused memory; {said}"
    if exit_code == -signal.SIGKILL and machine_struck:
        return EndReason.OUT_OF_MEMORY, f"{said}; meanwhile the machine ran out of memory"
    return (EndReason.CRASHED if exit_code < 0 else EndReason.FAILED), said


def last_lines(path: Path) -> list[str]:
    """Return the last lines of a program's output, at most five, escaped for terminals."""
    lines = last_bytes_of(path, _LAST_BYTES).decode(errors="replace").splitlines()
    return [
        escape_control_characters(line.strip())[:_LONGEST_LINE] for line in lines if line.strip()
    ][-5:]
