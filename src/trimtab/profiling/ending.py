"""Messages about runs that ended otherwise than they should, with the option that allows it."""

import re
from collections.abc import Sequence

from trimtab.config.signals import signal_name
from trimtab.errors import UserError
from trimtab.profiling.runs.measured import MeasuredRun, failure_of, in_one_line, last_lines

_DRAWN = " =\t"  # characters around a line, as in pytest's output
_PYTEST = re.compile(r"(?:^|[\s/'\"])(?:pytest|py\.test)(?:[\s'\"]|$)")
# https://docs.pytest.org/en/stable/reference/exit-codes.html
_OF_PYTEST = {
    1: "tests failed",
    2: "it was interrupted, as by an error while it collected tests",
    3: "an internal error",
    4: "a usage error",
    5: "no tests ran",
}


def check_first_run(run: MeasuredRun, command: Sequence[str], *, of_yaml: bool) -> MeasuredRun:
    """Return `run`, the first of `command`.

    Raises UserError if it did not end well: with its end, its last line, and the option, or key
    `of_yaml`, that allows such an end or more time.
    """
    if run.failure is None:
        return run
    what, see, where = run.failure.rpartition("; see ")
    meaning = _OF_PYTEST.get(run.exit_code) if _PYTEST.search(" ".join(command)) else None
    if meaning and _ended_by_itself(run):
        what = what.replace(", expected", f" (pytest: {meaning}), expected", 1)
    lines = last_lines(run.stderr) or last_lines(run.stdout)
    said = f": {lines[-1].strip(_DRAWN)}" if lines else ""
    first = f"{in_one_line(command)}: {what}{said}; {_advice(run, of_yaml=of_yaml)}{see}{where}"
    raise UserError("\n".join([first, *lines[:-1]]))


def check_traced_run(run: MeasuredRun, command: Sequence[str]) -> MeasuredRun:
    """Return `run`, a traced run of `command`; an untraced run has ended well.

    Raises UserError if this run did not end well.
    """
    failure = failure_of(run, command)
    if failure is not None:
        raise UserError(otherwise_while_traced(failure))
    return run


def otherwise_while_traced(failure: str) -> str:
    """Return the failure of a traced run, with a note that an untraced run ended well."""
    first, *others = failure.split("\n")
    first += (
        "; a run that was not traced ended well: run the command again by itself to see whether it"
        " always does, and without what looks for a tracer or checks its own files"
    )
    return "\n".join([first, *others])


def end_as_given(exit_code: int) -> str:
    """Return an exit code, or minus a signal, in the notation of `ends_with`."""
    return str(exit_code) if exit_code >= 0 else signal_name(-exit_code)


def _ended_by_itself(run: MeasuredRun) -> bool:
    return not run.timed_out and run.server_problem is None


def _advice(run: MeasuredRun, *, of_yaml: bool) -> str:
    if run.timed_out:
        option = "`timeout_s`" if of_yaml else "`--timeout-s`"
        drive = "`server.drive`" if of_yaml else "`--drive`"
        return f"{option} gives it more time, and {drive} is for a server"
    if run.server_problem is not None:
        ready = "`server.ready` or `server.address`" if of_yaml else "`--ready` or `--address`"
        drive = "`server.drive`" if of_yaml else "`--drive`"
        return f"{ready} says when it is ready, and the command of {drive} has to exit with 0"
    end = end_as_given(run.exit_code)
    return (
        f"`ends_with: {end}` if that is right"
        if of_yaml
        else f"`--ends-with {end}` if that is right"
    )
