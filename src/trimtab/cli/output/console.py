"""The output of a verb: for people, the next program, or a script.

Standard error is for people. Standard output is for the result: a table, the path of a result, or
with `--json` exactly one document.
"""

import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from trimtab.cli.output.terminal import Terminal
from trimtab.errors import UserError, escape_control_characters, format_error

if TYPE_CHECKING:
    from rich.status import Status

    from trimtab.cli.output.progress_lines import ProgressBars

_VERSION = 1  # of documents that are in no file


class Console:
    """The output of all verbs.

    `notes` is the terminal for people, silent with `--quiet`; `problems` is never silent.
    """

    def __init__(self) -> None:
        self.notes, self.problems = Terminal(stderr=True), Terminal(stderr=True)
        self.quiet = self.verbose = self.as_json = False
        self._answers = Terminal()
        self._began_s = 0.0
        self._result: Mapping[str, Any] | None = None

    @contextmanager
    def speaking(self, *, quiet: bool, verbose: bool, as_json: bool) -> Iterator[None]:
        """Apply the output options to the block, which is a verb.

        With `--json` its result is written at the end, also before a non-zero exit. Raises
        UserError for contradictory options.
        """
        if quiet and verbose:
            raise UserError("--quiet and --verbose: expected one of them at most")
        self.quiet, self.verbose, self.as_json = quiet, verbose, as_json
        self.notes.quiet = quiet
        self._began_s, self._result = time.monotonic(), None
        try:
            with ExitStack() as stack:
                if verbose:
                    from trimtab.cli.output.log import told_to  # not for help

                    self.detail(_this_trimtab())
                    stack.enter_context(told_to(self.detail))
                yield
            assert self._result is not None or not as_json, "every verb has a result"
        except Exception as error:
            if verbose and format_error(error) is not None:  # Python prints those of other errors
                import traceback  # not for help

                self.problems.print("".join(traceback.format_exception(error)), soft_wrap=True)
            raise
        finally:
            self._write_result()
            self.detail("the end")
            self.quiet = self.verbose = self.as_json = self.notes.quiet = False

    def detail(self, words: str) -> None:
        """With `--verbose`, print an event, with the seconds since the verb began."""
        if self.verbose:
            at_s = time.monotonic() - self._began_s
            self.notes.print(f"{at_s:8.2f} s  {words}", style="dim", soft_wrap=True)

    @contextmanager
    def step(self, words: str) -> Iterator["Status"]:
        """Show that a step runs, and with `--verbose` its duration.

        Without a terminal, this is a line.
        """
        began_s = time.monotonic()
        if not self.notes.is_interactive:
            self.notes.print(words, soft_wrap=True)
        with self.notes.status(words) as status:
            yield status
        self.detail(f"{words}: took {time.monotonic() - began_s:.2f} s")

    @contextmanager
    def bars(self, words: str) -> Iterator["ProgressBars"]:
        """Show the progress of a step, and with `--verbose` its duration.

        Without a terminal, these are lines, one when each part of the step begins.
        """
        from rich.progress import (  # not for help
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        from trimtab.cli.output.progress_lines import ProgressLines

        began_s = time.monotonic()
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(),
        )  # fmt: skip
        if self.notes.is_interactive:
            with Progress(*columns, console=self.notes) as progress:
                yield progress
        else:
            yield ProgressLines(lambda line: self.notes.print(line, soft_wrap=True))
        self.detail(f"{words}: took {time.monotonic() - began_s:.2f} s")

    def answer(self, *parts: RenderableType) -> None:
        """Write a result for people to standard output; nothing with `--json`."""
        if not self.as_json:
            for part in parts:
                self._answers.print(part, soft_wrap=isinstance(part, str))

    def path(self, path: Path) -> None:
        """Write a result's path to standard output, if it is open."""
        if self.as_json:
            return
        try:
            print(escape_control_characters(str(path)), flush=True)
        except BrokenPipeError:
            _nobody_reads()
        except OSError:
            pass  # closed, or on a full disk: the result exists all the same

    def result(self, document: Mapping[str, Any]) -> None:
        """Set the verb's result, a document of plain values and paths.

        A document that is in no file gets their version. NaN becomes null.
        """
        self._result = {"version": _VERSION, **document}

    def _write_result(self) -> None:
        document, self._result = self._result, None
        if not self.as_json or document is None:
            return
        text = json.dumps(_finite(document), indent=2, default=_name, allow_nan=False)
        try:
            print(text, flush=True)
        except BrokenPipeError:
            _nobody_reads()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _name(value: object) -> str:
    from trimtab.records.values import escaped  # not for help

    if isinstance(value, Path):
        return escaped(str(value))
    raise TypeError(f"{value!r}: no plain value")


def _nobody_reads() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # also at the end of this process


def _this_trimtab() -> str:
    import platform  # not for help
    from importlib.metadata import version

    python = f"Python {platform.python_version()} ({sys.executable})"
    return f"trimtab {version('trimtab')}, {python}, {platform.platform()}, in {Path.cwd()}"


console = Console()
