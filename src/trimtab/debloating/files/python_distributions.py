"""The Python distributions in a tree, as installers record them (PEP 376, 427, 627)."""

import csv
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from trimtab.debloating.files.tree import FileTree, joined
from trimtab.images.node import FileType

_ENDINGS = (".dist-info", ".egg-info")
_FOLDER = re.compile(r"(?P<name>[^/]+?)(?:-[^/]*)?\.(?:dist-info|egg-info)\Z")
_LISTS = ("RECORD", "installed-files.txt")


@dataclass(frozen=True)
class Distributions:
    """The files of distributions, each with the folder of its distribution's metadata.

    `names` are the distributions' names, by that folder; for some a file replaces the folder.
    """

    metadata_of: dict[str, str]
    names: dict[str, str]

    @classmethod
    def of(cls, tree: FileTree) -> Self:
        """Read what installers recorded; without a record the top-level names give the files.

        Damaged entries, and paths out of the tree, are ignored.
        """
        metadata_of: dict[str, str] = {}
        names: dict[str, str] = {}
        claimed: set[str] = set()  # by top-level names
        for path in sorted(path for path in tree.nodes if path.endswith(_ENDINGS)):
            match = _FOLDER.search(path)
            if match and tree.nodes[path].kind in (FileType.FOLDER, FileType.FILE):
                names[path] = match["name"]
                for file in _files(tree, path, match["name"], claimed):
                    metadata_of.setdefault(file, path)
        return cls(metadata_of, names)

    def of_others(self, owners: Mapping[str, str]) -> set[str]:
        """Return the metadata folders of distributions that packages of the system installed.

        `owners` has the package of each path that has one, such as `dpkg:python3-numpy`.
        """
        return {
            metadata
            for path, metadata in self.metadata_of.items()
            if owners.get(path, "").startswith(("dpkg:", "apk:"))
            and path.startswith(posixpath.dirname(metadata))
        }


def _files(tree: FileTree, metadata: str, name: str, claimed: set[str]) -> Iterator[str]:
    packages = posixpath.dirname(metadata)
    yield metadata
    yield from tree.below(metadata)
    for record in _LISTS:
        at = joined(metadata, record)
        if at in tree.nodes and tree.nodes[at].kind is FileType.FILE:
            # Paths in RECORD are relative to the folder of packages; in the older list, to itself.
            here = packages if record == "RECORD" else metadata
            for listed in _first_fields(tree.text(at)):
                path = _plain(tree, here, listed)
                if path is not None and path in tree.nodes and path not in tree.names:
                    yield path
            return
    for top in _top_level(tree, metadata) or [name.replace("-", "_")]:
        for path in (joined(packages, top), joined(packages, f"{top}.py")):
            if path in tree.nodes and path not in claimed:
                claimed.add(path)
                yield from (each for each in (path, *tree.below(path)) if each not in tree.names)


def _first_fields(text: str) -> Iterator[str]:
    rows = csv.reader(text.splitlines())
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error:  # a field longer than 128 KiB
            continue
        if row and row[0]:
            yield row[0]


def _plain(tree: FileTree, here: str, listed: str) -> str | None:
    path = tree.inside(listed) if listed.startswith("/") else joined(here, listed)
    return None if path is None else posixpath.normpath(path)


def _top_level(tree: FileTree, metadata: str) -> list[str]:
    names = tree.lines_at(tree.seen(joined(metadata, "top_level.txt")))
    return [name for name in map(str.strip, names) if name and "/" not in name and name != ".."]
