"""The errors that people read: what is wrong, where, and what to do about it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class TrimtabError(Exception):
    """Something of ours failed; the command line exits with 1."""

    exit_code = 1


class UserError(TrimtabError):
    """Something that was given is wrong (a path, a command, a YAML key); exits with 2."""

    exit_code = 2


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn a TrimtabError into its message on standard error and its exit code."""
    try:
        yield
    except TrimtabError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
