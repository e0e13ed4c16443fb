"""Detects a workspace that a killed command left inconsistent."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from trimtab.errors import UserError
from trimtab.files import atomic_write

Verb = Literal["debloat", "learn"]
_NAME = "unfinished"


@contextmanager
def changing(folder: Path, verb: Verb) -> Iterator[None]:
    """Mark the workspace as changed by `verb`, until the block succeeds."""
    with atomic_write(folder / _NAME) as temporary:
        temporary.write_text(f"{verb}\n")
    yield
    (folder / _NAME).unlink()


def check_finished(folder: Path, *, but: Verb | None = None) -> bool:
    """Raise UserError for an unfinished command other than `but`; return whether it was `but`."""
    verb = _unfinished(folder)
    if verb and verb != but:
        typed = "advanced learn" if verb == "learn" else verb
        raise UserError(f"{folder}: `trimtab {typed}` did not come to its end; give it again first")
    return verb is not None


def _unfinished(folder: Path) -> Verb | None:
    path = folder / _NAME
    if not path.is_file():
        return None
    return "learn" if path.read_text(errors="replace") == "learn\n" else "debloat"
