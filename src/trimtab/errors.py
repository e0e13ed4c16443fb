"""The errors that people read: what is wrong, where, and what to do about it."""

import os
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager


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


def visible(text: str) -> str:
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


def in_words(error: TrimtabError | OSError) -> str:
    """Return what an error says, as a terminal may show it."""
    if isinstance(error, TrimtabError):
        return visible(str(error))
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    what = os.strerror(error.errno) if error.errno else str(error)
    return visible(f"{where}{what}")


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn a TrimtabError or OSError into its message on standard error and its exit code."""
    try:
        yield
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        sys.exit(stopped.exit_code)
    except (TrimtabError, OSError) as error:
        print(f"error: {in_words(error)}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 1))
