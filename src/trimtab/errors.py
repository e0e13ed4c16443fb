"""The errors that people read: what is wrong, where, and what to do about it."""

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
    """Something of ours failed; the command line exits with 1."""

    exit_code = 1


class UserError(TrimtabError):
    """Something that was given is wrong (a path, a command, a YAML key); exits with 2."""

    exit_code = 2


class Stopped(BaseException):
    """A signal came that ends programs; the exit code is a shell's, 128 and its number."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"stopped by {signal.Signals(number).name}; nothing is half done: run it again"
        )
        self.exit_code = 128 + number


def escape_control_characters(text: str) -> str:
    """Return a text as a terminal or a page may show it: what would steer it stands there in words.

    Characters that cannot be seen, control and bidirectional ones among them, become `\\x1b` or
    `\\u202e`, and bytes of a name that are no UTF-8 `\\xff`; lines and tabs stay.
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs":
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # as os.fsdecode has a byte
        code -= 0xDC00
    if code < 1 << 8:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def format_error(error: BaseException) -> str | None:
    """Return what an error of ours says, or what the system refused, as a terminal may show it.

    A package that belongs to a part which is not installed is told with how to install it.
    The system refuses when a disk is full or gone, when something may not be read or written, and
    when there is no more memory or no other process to be had. Of any other error there is None.
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
    # Of Python, Arrow and zstd, which have errors of their own.
    words = "start new thread|launch worker thread|not enough memory"
    if isinstance(error, MemoryError) or re.search(words, str(error)):
        return "there is not enough memory, or no thread can be started (ulimit -v, ulimit -u)"
    return None


def exit_code_of(error: BaseException) -> int:
    """Return 2 for what was given or is not installed, 1 for what went wrong here."""
    missing = isinstance(error, ModuleNotFoundError) and extra_of(error) is not None
    return UserError.exit_code if missing else getattr(error, "exit_code", TrimtabError.exit_code)


def check_working_folder() -> None:
    """Raise UserError where the working directory was removed, of which errors have no name."""
    try:
        os.getcwd()  # noqa: PTH109  it is only asked for
    except FileNotFoundError:
        raise UserError("the working directory was removed: change to another one (cd)") from None


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn a TrimtabError, or what the system refused, into its message and its exit code."""
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
