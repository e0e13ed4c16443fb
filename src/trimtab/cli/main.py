"""`trimtab ...`: the entry point of the command line, for all verbs."""

import gc
import os
import sys

from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.cli.output.terminal import prints_any_name
from trimtab.cli.overview import ADVANCED, VERBS, overview
from trimtab.errors import Stopped, check_working_folder, exit_code_of, format_error
from trimtab.native import survive_truncation
from trimtab.processes.supervision import handle_signals, supervise


def main() -> None:
    """Run the command line; exits with 2 for user errors and 1 for internal errors.

    After a signal, it exits with 128 plus its number, such as 130 after Ctrl-C.
    """
    prints_any_name()
    survive_truncation()
    try:
        check_working_folder()
        _run()
    except Stopped as stopped:
        console.problems.print(str(stopped), soft_wrap=True)
        sys.exit(stopped.exit_code)
    except Exception as error:
        if (words := format_error(error)) is None:
            raise
        console.problems.print(Text("error:", "bold red"), words, soft_wrap=True)
        sys.exit(exit_code_of(error))


def _run() -> None:
    completes = "_TRIMTAB_COMPLETE" in os.environ  # Typer's variable, from the program's name
    verb = _verb(sys.argv[1:])
    if completes or verb:
        if verb == "imports":  # the program ends when it wants to, also after a signal
            handle_signals()
        else:
            supervise()
        from trimtab.cli.verbs import command_line

        app = command_line(None if completes else verb)
        gc.freeze()  # imported objects stay, so collections can skip them
        app()
    overview()()


def _verb(words: list[str]) -> str | None:
    """Return the verb that a command line runs; None if it asks for the overview or is mistaken."""
    first = next(
        (word for word in words if not word.startswith("-") or word in ("-h", "--help")), None
    )
    return first if first in VERBS or first in ADVANCED else None
