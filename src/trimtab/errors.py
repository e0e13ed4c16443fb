"""Errors for the user: what is wrong, where, and what to do about it."""

import os
import re
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.extras import extra_of
from trimtab.installation import how_to_add


class TrimtabError(Exception):
    """Something in trimtab failed; the command line exits with 1."""

    exit_code = 1


class UserError(TrimtabError):
    """The input is wrong (a path, a command, a YAML key); the command line exits with 2."""

    exit_code = 2


class Stopped(BaseException):
    """A terminating signal came; the exit code is a shell's, 128 and the signal number."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"stopped by {signal.Signals(number).name}; nothing is half done: run it again"
        )
        self.exit_code = 128 + number


def escape_control_characters(text: str) -> str:
    """Return a text with its control characters escaped, for terminals and pages.

    Invisible characters, including control and bidirectional ones, become `\\x1b` or `\\u202e`, and
    invalid UTF-8 bytes of a name `\\xff`; newlines and tabs stay.
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs":
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte, as os.fsdecode represents it
        code -= 0xDC00
    if code < 1 << 8:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def format_error(error: BaseException) -> str | None:
    """Return the message of our and the system's errors, escaped for terminals; None for others.

    For a missing package of an optional part it says how to install it. System errors are: a full
    or missing disk, missing permissions, and no more memory or processes.
    """
    if isinstance(error, TrimtabError):
        return escape_control_characters(str(error))
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return escape_control_characters(
            f"{where}{os.strerror(error.errno) if error.errno else error}"
        )
    if isinstance(error, ModuleNotFoundError) and (extra := extra_of(error)) is not None:
        return f"{error.name} is not installed; this needs: {how_to_add(extra)}"
    # Python, Arrow and zstd raise their own errors for this.
    words = "start new thread|launch worker thread|not enough memory"
    if isinstance(error, MemoryError) or re.search(words, str(error)):
        return "there is not enough memory, or no thread can be started (ulimit -v, ulimit -u)"
    return None


def exit_code_of(error: BaseException) -> int:
    """Return 2 for wrong input or a missing package, 1 for other failures."""
    missing = isinstance(error, ModuleNotFoundError) and extra_of(error) is not None
    return UserError.exit_code if missing else getattr(error, "exit_code", TrimtabError.exit_code)


def check_working_folder() -> None:
    """Raise UserError if the working directory was removed: other errors would not name it."""
    try:
        os.getcwd()  # noqa: PTH109  it is only asked for
    except FileNotFoundError:
        raise UserError("the working directory was removed: change to another one (cd)") from None


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Convert a TrimtabError or a system error to its message and its exit code."""
    try:
        yield
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        sys.exit(stopped.exit_code)
    except Exception as error:
        if (words := format_error(error)) is None:
            raise
        print(f"error: {words}", file=sys.stderr)
        sys.exit(exit_code_of(error))
