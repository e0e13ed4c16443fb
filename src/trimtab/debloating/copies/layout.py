"""Where the folders of an environment are, and where its links lead once it is copied.

A folder of an environment may be a link out of it, such as into an installer's cache. Where the
copy is written to, the folder that the link leads to is copied in place of the link.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import NamedTuple, Self

from trimtab.errors import UserError
from trimtab.files import unless_gone

# Folders that hold far more than a program and its files.
OF_THE_SYSTEM = {Path("/"), Path("/usr"), Path("/usr/local")}
_SYSTEMS_OWN = OF_THE_SYSTEM | {
    Path(top, name)
    for top in ("/", "/usr", "/usr/local")
    for name in ("bin", "sbin", "lib", "lib64", "share")
}
_TOP = PurePath()
# Files that any running Python writes, under a temporary name first, or removes.
_BYTECODE = re.compile(r"(?:/__pycache__|\.pyc(?:\.\d+)?)\Z")


class LayoutEntry(NamedTuple):
    """A file, link or folder: its path in the environment, its path on disk, and its status.

    A link that is replaced by a folder in the copy has that folder's status. Paths are strings, as
    there are many.
    """

    name: str
    path: str
    status: os.stat_result

    @property
    def parent(self) -> str:
        """The path of its folder in the environment; "" for the environment itself."""
        return self.name.rpartition("/")[0]

    @property
    def base(self) -> str:
        """The last component of the path."""
        return self.name.rpartition("/")[2]

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a link."""
        return stat.S_ISLNK(self.status.st_mode)


@dataclass(frozen=True)
class EnvironmentLayout:
    """An environment at `root`: its real folders, each with its path in the environment.

    The first is the environment itself; the others are targets of links that the copy replaces by
    folders. With `is_root` it is a whole root file system, without what is mounted in it.
    """

    root: Path
    folders: dict[Path, PurePath]
    is_root: bool = False
    _spellings: tuple[Path, ...] = field(default=(), repr=False)
    _real: dict[str, str] = field(default_factory=dict, repr=False)  # real paths, cached

    @classmethod
    def of(cls, root: Path, own: Iterable[str] = ()) -> Self:
        """Return the layout of `root`; its copy is written to in folders that match `own`.

        Raises UserError if such a folder is a link to one that cannot be copied, such as one of the
        operating system.
        """
        layout = cls(root, {root.resolve(): _TOP}, _spellings=(root, root.resolve()))
        patterns = {part for pattern in own for part in (*_parents(pattern), pattern)}
        for pattern in sorted(patterns, key=lambda pattern: pattern.count("/")):
            for path in sorted(root.glob(pattern)):
                real = path.resolve()
                if not path.is_dir() or layout.name_of(real) is not None:
                    continue
                if real in _SYSTEMS_OWN or root.resolve().is_relative_to(real):
                    raise UserError(
                        f"{path}: is a link to {real}, which a copy of the environment cannot hold;"
                        " put a folder of its own in its place, with what the program needs"
                    )
                parent = layout.name_of(path.parent.resolve())
                assert parent is not None  # patterns with fewer components were handled before
                layout.folders[real] = parent / path.name
        return layout

    @classmethod
    def of_root(cls, root: Path) -> Self:
        """Return the layout of the folder `root`, a whole root file system."""
        return cls(root, {root.resolve(): _TOP}, is_root=True)

    def name_of(self, place: Path) -> PurePath | None:
        """Return the path in the environment of a real path, or None where it is outside."""
        inside = [folder for folder in self.folders if place.is_relative_to(folder)]
        if not inside:
            return None
        folder = max(inside, key=lambda folder: len(folder.parts))
        return self.folders[folder] / place.relative_to(folder)

    def entries(self) -> Iterator[LayoutEntry]:
        """Yield all entries of the environment, each folder before its content.

        Bytecode that disappears meanwhile is left out. Raises OSError for an unreadable entry.
        """
        opened = {str(name): str(folder) for folder, name in self.folders.items()}
        waiting = [("", opened.pop("."))]
        device = self.root.stat().st_dev
        while waiting:
            folder, path = waiting.pop()
            inner: list[os.DirEntry[str]] = []
            with bytecode_may_go(path):
                here = Path(path).stat()
                if here.st_dev == device or not self.is_root:
                    with os.scandir(path) as found:
                        inner = sorted(found, key=lambda each: each.name)
                yield LayoutEntry(folder, path, here)
            for each in inner:
                name = f"{folder}/{each.name}" if folder else each.name
                if each.is_dir(follow_symlinks=False) or name in opened:
                    waiting.append((name, opened.get(name, each.path)))
                    continue
                with bytecode_may_go(each.path):
                    yield LayoutEntry(name, each.path, each.stat(follow_symlinks=False))

    def link_text(self, link: LayoutEntry) -> str:
        """Return the text of a link in a copy.

        A link into the environment, by any spelling of its path, leads into the copy. A link out
        leads to the same place as before. Dangling links still dangle. In a root file system the
        text is unchanged, as programs inside resolve it.
        """
        text = os.readlink(link.path)
        if self.is_root:
            return text
        here, parts = link.parent or ".", PurePath(text).parts
        up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
        if ".." not in parts[up:]:
            if not text.startswith("/") and up <= self._depth(link):
                return text
            for spelling in self._spellings:
                if text.startswith("/") and PurePath(text).is_relative_to(spelling):
                    return os.path.relpath(PurePath(text).relative_to(spelling), here)
        place = self._place_of(str(Path(link.path).parent), text)
        name = self.name_of(place)
        if name is not None:
            return os.path.relpath(name, here)
        return text if text.startswith("/") else str(place)

    def _place_of(self, folder: str, text: str) -> Path:
        """Return where a link in a real folder leads, with links before the last component
        resolved.
        """
        before, last = os.path.split(text.rstrip("/"))
        if last in ("", ".", ".."):
            before, last = text, ""
        whole = str(Path(folder, before))
        if whole not in self._real:
            self._real[whole] = os.path.realpath(whole)
        return Path(self._real[whole], last)

    def _depth(self, link: LayoutEntry) -> int:
        """Return how many folders above the link's folder are in the same real folder."""
        real = Path(link.path).parent
        folder = max(
            (f for f in self.folders if real.is_relative_to(f)), key=lambda f: len(f.parts)
        )
        return len(real.relative_to(folder).parts)


def bytecode_may_go(path: str) -> AbstractContextManager[None]:
    """Return a context manager that ignores the error if `path` is bytecode that disappeared.

    An environment in use has such files for moments; any other missing file is an error.
    """
    return unless_gone(path) if _BYTECODE.search(path) else nullcontext()


def _parents(pattern: str) -> list[str]:
    parts = pattern.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
