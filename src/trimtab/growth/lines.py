"""The year of each line of a tree, updated from commit to commit by their diff."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import translate

import numpy as np
import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption, FileMode

Years = np.ndarray[tuple[int], np.dtype[np.uint16]]
_FILES = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)
_SIMILAR_PCT = 50  # from which a removed and an added file are a rename
_MOST_RENAMES = 1000  # up to which all pairs are compared; beyond, only equal contents


@dataclass
class LineYears:
    """The lines of a tree: the year of each, by file. Only files that `patterns` match count."""

    patterns: Sequence[str]
    by_file: dict[str, Years] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._counted = re.compile("|".join(map(translate, self.patterns)))

    def counts(self) -> Counter[int]:
        """Return the number of lines of each year."""
        total: Counter[int] = Counter()
        for years in self.by_file.values():
            found, counts = np.unique(years, return_counts=True)
            total.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
        return total

    def follow(
        self, repository: pygit2.Repository, before: str | None, after: str, year: int
    ) -> None:
        """Update from the tree of the commit `before`, or an empty one, to that of `after`.

        New lines get `year`.
        """
        diff = _difference(repository, before, after)
        # A name may pass from one file to another, so removals come before additions.
        changes = []
        for number, delta in enumerate(diff.deltas):
            old = self.by_file.pop(delta.old_file.path, None) if _had(delta) else None
            if _has(delta) and self._counted.match(delta.new_file.path.rpartition("/")[2]):
                changes.append((delta.new_file.path, delta.new_file.id, old, number))
        for path, blob_id, old, number in changes:
            blob = repository[blob_id].peel(pygit2.Blob)
            if blob.is_binary:
                continue
            patch = None if old is None else diff[number]
            if old is None or patch is None or patch.delta.is_binary:
                self.by_file[path] = np.full(_lines_in(blob), year, np.uint16)
            else:
                self.by_file[path] = _changed(old, patch, year)


def _difference(repository: pygit2.Repository, before: str | None, after: str) -> pygit2.Diff:
    tree = repository[after].peel(pygit2.Tree)
    if before is None:
        return tree.diff_to_tree(context_lines=0, swap=True)
    old = repository[before].peel(pygit2.Tree)
    diff = old.diff_to_tree(tree, DiffOption.INDENT_HEURISTIC, 0, 0)
    diff.find_similar(DiffFind.FIND_RENAMES, _SIMILAR_PCT, rename_limit=_MOST_RENAMES)
    return diff


def _had(delta: pygit2.DiffDelta) -> bool:
    return delta.status != DeltaStatus.ADDED


def _has(delta: pygit2.DiffDelta) -> bool:
    return delta.status != DeltaStatus.DELETED and delta.new_file.mode in _FILES


def _lines_in(blob: pygit2.Blob) -> int:
    return blob.data.count(b"\n") + (blob.size > 0 and not blob.data.endswith(b"\n"))


def _changed(old: Years, patch: pygit2.Patch, year: int) -> Years:
    """Return the years of a file's lines; git counts from 1, an empty range from one before."""
    parts: list[Years] = []
    at = 0
    for hunk in patch.hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        parts += [old[at:start], np.full(hunk.new_lines, year, np.uint16)]
        at = start + hunk.old_lines
    return np.concatenate([*parts, old[at:]])
