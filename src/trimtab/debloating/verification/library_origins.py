"""Check by its mapped files that a run took its libraries from the slim environment.

A file is identified by its device and inode, whatever path or link it was opened by. The fallback
library records them in every process that loads it, at start and end (`native/fallback/mapped.c`).
In a root file system, programs see another device number than we do: there the path identifies a
file.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Self

from trimtab.errors import TrimtabError
from trimtab.processes.root import RootFileSystem
from trimtab.untrusted import lines_of_untrusted

RECORD = "TRIMTAB_MAPPED_RECORD"

_File = tuple[int, int]  # device and inode
# A thousand processes with a thousand libraries each.
_MOST_BYTES, _MOST_LINES = 1 << 28, 1_000_000
_LINE = re.compile(rb"\d+\t(\d{1,20})\t(\d{1,20})\t(.*)", re.DOTALL)


@dataclass(frozen=True)
class LibraryFiles:
    """A target's debloated libraries in both environments, by device and inode."""

    slim: Mapping[_File, str]
    original: Mapping[_File, str]
    fallback: _File | None

    @classmethod
    def of(cls, libraries: Iterable[str], original: Path, slim: Path, fallback: Path) -> Self:
        """Return the files of `libraries` below both folders, and of `fallback` in the slim one.

        A file shared by both environments counts as slim.
        """
        names = list(libraries)
        in_slim = {file_of(slim / name): name for name in names}
        in_original = {file_of(original / name): name for name in names}
        shared = in_slim.keys()
        return cls(
            in_slim,
            {file: name for file, name in in_original.items() if file not in shared},
            file_of(slim / fallback) if (slim / fallback).exists() else None,
        )

    def below(self, root: Path) -> set[Path]:
        """Return the paths of the libraries in the environment at `root`."""
        return {root / name for name in self.slim.values()}

    def problem_of(self, record: Path, root: RootFileSystem | None = None) -> str | None:
        """Return in words that the run with this record used an original library, or None.

        The run was in `root`. Without a fallback nothing is recorded, and the result is None.
        `is_shown_by` tells whether any process is recorded.
        """
        if self.fallback is None:
            return None
        mapped = _mapped(record, root)
        wrong = sorted({self.original[file] for file in mapped.keys() & self.original.keys()})
        if wrong:
            return f"it used {wrong[0]} of the original environment{and_more(len(wrong) - 1)}"
        return None

    def is_shown_by(self, record: Path, root: RootFileSystem | None = None) -> bool:
        """Return whether this record shows that the run used the slim environment.

        Slim libraries load the fallback. A run that loaded no library with removed code does not
        show it, nor does a run without a fallback: then the places of its files decide
        (`FollowedRun.elsewhere`). Programs that INIT starts need not load the fallback, and have no
        other environment.
        """
        if root is not None and root.is_started_by_init:
            return True
        return self.fallback is not None and self.fallback in _mapped(record, root)

    def slim_libraries_in(self, record: Path, root: RootFileSystem | None = None) -> set[str]:
        """Return the slim libraries that a run in `root` with this record mapped."""
        return self.slim_among(_mapped(record, root).keys())

    def slim_among(self, files: Iterable[_File]) -> set[str]:
        """Return the slim libraries among `files`."""
        return {self.slim[file] for file in files if file in self.slim}


def file_of(path: Path) -> _File:
    """Return the device and inode of the file at `path`."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _mapped(record: Path, root: RootFileSystem | None) -> dict[_File, str]:
    """Return the paths of the files that a run mapped to execute, by file."""
    mapped = {}
    with suppress(FileNotFoundError):
        for number, line in enumerate(lines_of_untrusted(record, _MOST_BYTES, _MOST_LINES), 1):
            match = _LINE.fullmatch(line)
            if match is None:
                raise TrimtabError(f"{record}: line {number}: not a record of mapped files")
            file, path = (int(match[1]), int(match[2])), os.fsdecode(match[3])
            if root is not None and (place := root.outside(PurePath(path))).is_file():
                file = file_of(place)
            mapped[file] = path
    return mapped


def and_more(others: int, of: str = "of its libraries") -> str:
    """Return the end of a sentence that names one library of several; "" if there are no others."""
    return f", and {others} more {of}" if others else ""
