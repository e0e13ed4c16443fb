"""What changed on disk since a start was saved, so that starts are usual again.

These guards are compared at each start, too: `native/file_fallback/snapshot_guards.c`.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from trimtab.debloating.snapshots.guards import digest_of_names
from trimtab.debloating.snapshots.installing import guards_in
from trimtab.records.misses.brought_back import STATE_FILE


def changes(environment: Path) -> list[str]:
    """Return the changes for which snapshots of the slim `environment` are used no more, in words.

    Of each snapshot it is the first one; what several have in common stands once. Nobody but the
    owner of a snapshot may read what it is compared with: for others there is none.
    """
    try:
        all_guards = guards_in(environment).values()
    except PermissionError:
        return []
    found = dict.fromkeys(change for guards in all_guards for change in _first_change(guards))
    state = f"{os.path.abspath(environment / STATE_FILE)} was changed"
    return ["something removed came back" if change == state else change for change in found]


def _first_change(guards: bytes) -> Iterator[str]:
    for text in guards.split(b"\0"):
        try:
            problem = _problem(os.fsdecode(text[:1]), os.fsdecode(text[1:]))
        except ValueError:
            problem = "it is damaged"
        if problem:
            yield problem
            return


def _problem(kind: str, text: str) -> str:
    """Return what is not as a guard of files says, in words; "" where it is, or it is of another.

    guards.py says what the letters mean.
    """
    match kind:
        case "f" if not _is_unchanged(text):
            return f"{text.split(' ', 3)[3]} was changed"
        case "l" if os.path.lexists(text):
            return f"{text} was added"
        case "k" if not Path(text).is_dir():
            return f"{text} is no folder any more"
        case "v" if not Path(text).exists():
            return f"{text} was removed"
        case "g" | "G" if not _has_names(text, is_whole=kind == "G"):
            what = "files were" if kind == "G" else "a module was"
            return f"{what} added to or removed from {text.partition(' ')[2]}"
    return ""


def _is_unchanged(text: str) -> bool:
    size, seconds, nanoseconds, path = text.split(" ", 3)
    with suppress(OSError):
        status = Path(path).stat()
        is_as_large = status.st_size == int(size) or Path(path).is_dir()
        return is_as_large and status.st_mtime_ns == int(seconds) * 10**9 + int(nanoseconds)
    return False


def _has_names(text: str, *, is_whole: bool) -> bool:
    digest, _, folder = text.partition(" ")
    with suppress(OSError):
        return digest_of_names(folder, is_whole=is_whole) == int(digest)
    return False
