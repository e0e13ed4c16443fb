"""Time a program from its start to its first useful output: a line, or an answered request."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.config.groups.workload import Marks
from trimtab.errors import UserError
from trimtab.processes.launch import Launched, launched
from trimtab.processes.program import Program, ended
from trimtab.processes.run_processes import RunProcesses, adopting_orphans
from trimtab.profiling.runs.measured import last_lines

ANY_LINE = r"\S"  # any line that is not blank
_POLL_S = 0.005


@dataclass(frozen=True)
class OutputLine:
    """A line that a program wrote to standard error, with its time in seconds since the start."""

    time_s: float
    text: str


def to_first_output(program: Program, first_output: str | None = None) -> Program:
    """Return the program with the mark that ends a start: a line that matches `first_output`.

    The default is the first line; for a server, the end of its driver.
    """
    mark = ANY_LINE if first_output is None and program.driver is None else first_output
    return replace(program, marks=Marks(first_iteration=mark, file=program.marks.file))


def first_output_s(
    program: Program,
    stem: Path,
    on_line: Callable[[OutputLine], None] | None = None,
    may_end_within_s: float = 0.0,
) -> float:
    """Run a program as `to_first_output` returns it, and return the seconds to its first output.

    Then it is killed with all its processes; a program without a driver first gets
    `may_end_within_s` to end by itself. Its output is in `stem`.stdout and .stderr; `on_line` gets
    each line of standard error as it comes. Raises UserError if it ends without that output, ends
    badly after it, or writes none within `timeout_s`.
    """
    stdout, stderr = Path(f"{stem}.stdout"), Path(f"{stem}.stderr")
    processes = RunProcesses()
    lines = None if on_line is None else _Lines(on_line)
    try:
        with (
            adopting_orphans(),
            launched(program, stdout, stderr, None if lines is None else lines.feed) as run,
        ):
            processes.leader = run.pid
            if lines is not None:
                lines.began_at = run.started_at
            try:
                while _first_s(run) is None and run.ended_s is None:
                    if run.elapsed_s() >= program.timeout_s:
                        break
                    run.news.wait(_POLL_S)
                if program.driver is None:
                    deadline = time.monotonic() + may_end_within_s
                    while run.ended_s is None and time.monotonic() < deadline:
                        time.sleep(_POLL_S)
            finally:
                by_itself = run.ended_s is not None
                timed_out = run.ended_s is None and _first_s(run) is None
                run.give_up()
                processes.kill()
        first_s = _first_s(run)  # a line may have arrived since
    finally:
        exit_code = 0
        if processes.leader:
            exit_code = os.waitstatus_to_exitcode(os.waitpid(processes.leader, 0)[1])
    problem = run.driving.problem if run.driving is not None and not timed_out else None
    if first_s is None or problem:
        how = problem or ended(exit_code)
        if timed_out:
            how = f"was still running after {program.timeout_s:g} s, and was killed"
        raise UserError("\n".join([_no_output(program, how), *last_lines(stderr)]))
    fails = program.ends_with is not None and exit_code not in program.ends_with
    if by_itself and program.driver is None and fails:
        how = f"{' '.join(program.command)}: {ended(exit_code)} after its first output"
        if 0 <= exit_code < 256:
            how += f"; `--ends-with {exit_code}` if that is right"
        raise UserError("\n".join([how, *last_lines(stderr)]))
    return first_s


def _first_s(run: Launched) -> float | None:
    if run.marks.first_iteration_s is not None:
        return run.marks.first_iteration_s
    driven_at = None if run.driving is None else run.driving.driven_at
    return None if driven_at is None else driven_at - run.started_at


def _no_output(program: Program, how: str) -> str:
    mark = program.marks.first_iteration
    wanted = "any line" if mark == ANY_LINE else f"a line that matches {mark!r}"
    if program.driver is not None and mark is None:
        wanted = "a request was answered"
    return f"{' '.join(program.command)}: {how} before {wanted} was its first output"


class _Lines:
    """Splits the read data into lines, each with the time of its end."""

    def __init__(self, on_line: Callable[[OutputLine], None]) -> None:
        self.began_at = time.monotonic()
        self._on_line = on_line
        self._rest = b""

    def feed(self, data: bytes) -> None:
        now_s = time.monotonic() - self.began_at
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-(1 << 20) :]
        for line in lines:
            self._on_line(OutputLine(now_s, line.decode(errors="replace")))
