"""Run a program with the record of its imports."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trimtab.errors import UserError
from trimtab.profiling.imports import inside_program
from trimtab.profiling.imports.inside_program import site_hook

_PACKAGE = "_trimtab_imports"  # the name of `inside_program` in the program
_SEARCH = "PYTHONPATH"
_PYTHON = re.compile(r"python[\d.]*")
_SI_KERNEL = 0x80  # of a signal from the terminal (asm-generic/siginfo.h)
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class Recorded:
    """A program's end, as in `subprocess`, and the folder with a record of each process."""

    exit_code: int
    records: Path


@contextmanager
def recorded(command: Sequence[str], stdout: int | None = None) -> Iterator[Recorded]:
    """Run `command` with this process's input and output, and yield what was recorded.

    Signals to this process are passed on, but for those of the terminal, which it gets itself.
    `stdout` is a descriptor in place of this process's own. Raises UserError if it cannot be
    started.
    """
    with TemporaryDirectory(prefix="trimtab-imports-") as place:
        records = Path(place, "records")
        records.mkdir()
        hook = Path(place, "hook")
        install_hook(hook)
        search = os.environ.get(_SEARCH)
        environment = {
            **os.environ,
            _SEARCH: f"{hook}:{search}" if search else str(hook),
            site_hook.RECORDS: str(records),
        }
        _compile_hook(command[0], {**environment, site_hook.RECORDS: str(Path(place, "unused"))})
        try:
            exit_code = _run(command, environment, stdout)
        except OSError as error:
            why = f"cannot be started: {error.strerror}"
            raise UserError(f"{command[0]}: {why}; give a program after --") from None
        yield Recorded(exit_code, records)


def install_hook(folder: Path) -> None:
    """Write the modules that run inside the program, under names of their own, to a new folder."""
    package = folder / _PACKAGE
    package.mkdir(parents=True)
    for path in Path(inside_program.__file__).parent.glob("*.py"):
        text = path.read_text().replace(inside_program.__name__, _PACKAGE)
        is_hook = path.samefile(site_hook.__file__)
        copy = folder / "sitecustomize.py" if is_hook else package / path.name
        copy.write_text(text)


def _compile_hook(python: str, environment: dict[str, str]) -> None:
    """Have a Python keep the hook's byte code, lest the program's time include compiling it."""
    if _PYTHON.fullmatch(Path(python).name):
        nothing = subprocess.DEVNULL
        with suppress(OSError):  # told when the program itself cannot be started
            subprocess.run(
                [python, "-c", ""], env=environment, stdin=nothing, stdout=nothing, stderr=nothing
            )


def _run(command: Sequence[str], environment: Mapping[str, str], stdout: int | None) -> int:
    """Return how the program ended; its group's signals from a terminal are its own matter.

    Raises OSError if it cannot be started.
    """
    awaited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)  # none may come in between
    try:
        process = subprocess.Popen(
            command, env=environment, stdout=stdout, close_fds=False,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
        )  # fmt: skip
        while process.poll() is None:
            told = signal.sigwaitinfo(awaited)
            if told.si_signo != signal.SIGCHLD and told.si_code != _SI_KERNEL:
                process.send_signal(told.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process.returncode
