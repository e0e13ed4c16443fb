"""The errors that people read: what is wrong, where, and what to do about it."""

import signal
import sys
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


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn a TrimtabError into its message on standard error and its exit code."""
    try:
        yield
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        sys.exit(stopped.exit_code)
    except TrimtabError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
