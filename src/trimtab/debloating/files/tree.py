"""A root file system that nobody writes to, or a folder of one: its paths and its links."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from trimtab.images.node import FileType, Inode

_WITH_MORE = {FileType.FOLDER, FileType.LINK}  # more of a path may follow these
_MOST_LINKS = 40  # MAXSYMLINKS of Linux
_MOST_TEXT_BYTES = 16 << 20
_MOST_CONFIGURATION_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Walk:
    """The resolution of a path: where it leads, and the paths that it needs.

    `passed` are its links, the folders that it leaves by `..`, and for a missing target the deepest
    existing folder. `end` is None for a missing target and outside the tree; `leaves` tells the
    latter.
    """

    passed: tuple[str, ...]
    end: str | None
    leaves: bool = False


@dataclass(frozen=True)
class FileTree:
    """A root file system, or a folder of one such as a Python environment.

    `nodes` are by path below the tree's top, which is `/` and among them, as is the folder of each;
    these paths go through no link. Names of one file, hard links, have the same node. `open_file`
    opens a regular file of them for reading at any place. `tops` are the absolute paths by which
    programs know the top, the first one being the real one: nothing but `""` for a whole root.
    Nobody writes to it meanwhile.
    """

    nodes: Mapping[str, Inode]
    open_file: Callable[[str], AbstractContextManager[BinaryIO]]
    tops: tuple[str, ...] = ("",)

    @property
    def is_whole(self) -> bool:
        """Whether this is a whole root file system."""
        return self.tops == ("",)

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """The sorted names in each folder."""
        found: dict[str, list[str]] = {
            path: [] for path, node in self.nodes.items() if node.kind is FileType.FOLDER
        }
        for path in sorted(self.nodes):
            if path != "/":
                parent, name = posixpath.split(path)
                found[parent].append(name)
        return found

    def below(self, folder: str) -> Iterator[str]:
        """Yield all paths below a folder; none if it is no folder."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            for name in self.names.get(here, ()):
                path = joined(here, name)
                yield path
                if path in self.names:
                    waiting.append(path)

    def seen(self, path: str) -> str:
        """Return a path of the tree as programs see it."""
        return self.tops[0] + path if path != "/" else self.tops[0] or "/"

    def inside(self, seen: str) -> str | None:
        """Return the path in the tree of an absolute path as programs see it; None if outside."""
        for top in self.tops:
            if seen == top:
                return "/"
            if seen.startswith(f"{top}/"):
                return seen[len(top) :]
        return None

    def walk(self, seen: str) -> Walk:
        """Resolve an absolute path as programs see it, as the kernel does."""
        start = self.inside(seen)
        return Walk((), None, True) if start is None else self._walk("/", start)

    def follow(self, link: str) -> Walk:
        """Resolve a link of the tree."""
        return self._walk(*posixpath.split(link))

    def file_at(self, seen: str) -> str | None:
        """Return the regular file that a path leads to; None if there is no such file."""
        end = self.walk(seen).end
        return end if end is not None and self.nodes[end].kind is FileType.FILE else None

    def text(self, path: str, most_bytes: int = _MOST_TEXT_BYTES) -> str:
        """Return the text of a regular file of the tree, truncated if it is too long."""
        with self.open_file(path) as file:
            return file.read(most_bytes).decode("utf-8", "surrogateescape")

    def own_text(self, path: str, most_bytes: int = _MOST_TEXT_BYTES) -> str:
        """Return the text of what is at a path of the tree; nothing where it is no regular file."""
        node = self.nodes.get(path)
        is_file = node is not None and node.kind is FileType.FILE
        return self.text(path, most_bytes) if is_file else ""

    def lines_at(self, seen: str) -> list[str]:
        """Return the lines of the configuration file that a path leads to; none without a file.

        Only the first MiB is read.
        """
        path = self.file_at(seen)
        return [] if path is None else self.text(path, _MOST_CONFIGURATION_BYTES).splitlines()

    def _walk(self, here: str, path: str) -> Walk:
        passed: list[str] = []
        waiting = path.split("/")[::-1]
        links = 0
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if here == "/" and not self.is_whole:
                    return Walk(tuple(passed), None, True)
                passed.append(here)
                here = posixpath.dirname(here)
                continue
            at = joined(here, name)
            node = self.nodes.get(at)
            if node is None or (waiting and node.kind not in _WITH_MORE):
                return Walk((*passed, here), None)
            if node.kind is not FileType.LINK:
                here = at
                continue
            passed.append(at)
            links += 1
            target: str | None = node.target
            if node.target.startswith("/"):
                target, here = self.inside(node.target), "/"
            if target is None or links > _MOST_LINKS:
                return Walk(tuple(passed), None, target is None)
            waiting += target.split("/")[::-1]
        return Walk(tuple(passed), here)


def joined(folder: str, name: str) -> str:
    """Return the path of `name` in a folder of a tree."""
    return f"/{name}" if folder == "/" else f"{folder}/{name}"


def parents(path: str) -> Iterator[str]:
    """Yield the parents of a path of a tree, the nearest first."""
    while path != "/":
        path = posixpath.dirname(path)
        yield path
