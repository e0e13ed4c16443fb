"""The saved state of a count of lines: the year of each line at one of its samples."""

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from trimtab.config.groups.code_base import CodeBase
from trimtab.files import atomic_write
from trimtab.growth.history import Sample
from trimtab.growth.lines import Years

Row = tuple[str, int, int, int]  # commit, at_s, year, lines
_OF_ANOTHER = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True)
class Progress:
    """The lines of each file at the commit `commit`, and the rows of all samples until then.

    `key` identifies the count; a count with another key, or without `commit`, starts from scratch.
    """

    key: str
    commit: str = ""
    rows: Sequence[Row] = ()
    by_file: Mapping[str, Years] | None = None

    @classmethod
    def read(cls, path: Path, wanted: CodeBase) -> Self:
        """Read the progress at `path` of the same code base; empty without one."""
        key = _key(wanted)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                head = json.loads(arrays["head"].tobytes())
                ends = np.cumsum(arrays["lengths"])
                years = np.split(arrays["years"], ends[:-1])
            if head["key"] != key or len(years) != len(head["files"]):
                return cls(key)
            return cls(
                key,
                head["commit"],
                [tuple(row) for row in head["rows"]],
                dict(zip(head["files"], years, strict=True)),
            )
        except _OF_ANOTHER:
            return cls(key)

    def write(self, path: Path) -> None:
        """Write it to `path`."""
        by_file = self.by_file or {}
        head = {"key": self.key, "commit": self.commit, "rows": self.rows, "files": list(by_file)}
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                head=np.frombuffer(json.dumps(head).encode(), np.uint8),
                lengths=np.array([len(years) for years in by_file.values()], np.int64),
                years=np.concatenate([np.empty(0, np.uint16), *by_file.values()]),
            )

    def done_of(self, samples: Iterable[Sample]) -> int:
        """Return the number of `samples` done, its own commit included."""
        commits = [sample.commit for sample in samples]
        return commits.index(self.commit) + 1 if self.commit in commits else 0


def _key(wanted: CodeBase) -> str:
    return json.dumps([wanted.interval_days, wanted.files])
