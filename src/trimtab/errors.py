"""The errors that people read: what is wrong, where, and what to do about it."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class TrimtabError(Exception):
    """Something of ours failed; the command line exits with 1."""

    exit_code = 1


class UserError(TrimtabError):
    """Something that was given is wrong (a path, a command, a YAML key); exits with 2."""

    exit_code = 2


def refused_by_system(error: BaseException) -> str | None:
    """Return what the system refused and of which file, or None where it refused nothing.

    It refuses when a disk is full or gone, when something may not be read or written, and when
    there is no more memory or no other process to be had.
    """
    if isinstance(error, OSError):
        problem = error.strerror or str(error)
        return f"{error.filename}: {problem}" if error.filename else problem
    # Of Python, Arrow and zstd, which have errors of their own.
    words = "start new thread|launch worker thread|not enough memory"
    if isinstance(error, MemoryError) or re.search(words, str(error)):
        return "there is not enough memory, or no thread can be started (ulimit -v, ulimit -u)"
    return None


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn a TrimtabError, or what the system refused, into its message and its exit code."""
    try:
        yield
    except TrimtabError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except Exception as error:
        if (refused := refused_by_system(error)) is None:
            raise
        print(f"error: {refused}", file=sys.stderr)
        sys.exit(1)
