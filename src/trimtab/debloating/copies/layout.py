"""Where the folders of an environment are, and where its links lead once it is copied.

A folder of an environment may be a link out of it, as caches of installers make them. Where the
copy is written to, what such a link leads to is copied in its place.
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

# Folders that hold far more than what a program came with.
OF_THE_SYSTEM = {Path("/"), Path("/usr"), Path("/usr/local")}
_SYSTEMS_OWN = OF_THE_SYSTEM | {
    Path(top, name)
    for top in ("/", "/usr", "/usr/local")
    for name in ("bin", "sbin", "lib", "lib64", "share")
}
_TOP = PurePath()
# What any Python that runs there writes, under another name first, or removes.
_BYTECODE = re.compile(r"(?:/__pycache__|\.pyc(?:\.\d+)?)\Z")


class LayoutEntry(NamedTuple):
    """A file, link or folder: its path in the environment, where it is, and what it is.

    A folder that is a link whose place a copy takes is told of as what it leads to. The paths are
    texts, as there are many.
    """

    name: str
    path: str
    status: os.stat_result

    @property
    def parent(self) -> str:
        """The path in the environment of the folder that it is in; "" for the environment."""
        return self.name.rpartition("/")[0]

    @property
    def base(self) -> str:
        """The last component of its path."""
        return self.name.rpartition("/")[2]

    @property
    def is_folder(self) -> bool:
        """Whether there are others in it."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a link."""
        return stat.S_ISLNK(self.status.st_mode)


@dataclass(frozen=True)
class EnvironmentLayout:
    """An environment at `root`: each real folder it consists of, with its path in the environment.

    The first is the environment itself; others are where links lead whose place a copy takes. With
    `is_root` it is a whole root file system: what is mounted in it is not of it.
    """

    root: Path
    folders: dict[Path, PurePath]
    is_root: bool = False
    _spellings: tuple[Path, ...] = field(default=(), repr=False)
    _real: dict[str, str] = field(default_factory=dict, repr=False)  # of folders of links

    @classmethod
    def of(cls, root: Path, own: Iterable[str] = ()) -> Self:
        """Return the layout of `root`, whose copy is written to in folders that `own` matches.

        Raises UserError where one of these is a link to a folder that cannot be copied in its
        place, as one of the operating system.
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
                assert parent is not None  # patterns with fewer components were looked at before
                layout.folders[real] = parent / path.name
        return layout

    @classmethod
    def of_root(cls, root: Path) -> Self:
        """Return the layout of the folder `root` that is a whole root file system."""
        return cls(root, {root.resolve(): _TOP}, is_root=True)

    def name_of(self, place: Path) -> PurePath | None:
        """Return the path in the environment of a real path, or None where it is outside."""
        inside = [folder for folder in self.folders if place.is_relative_to(folder)]
        if not inside:
            return None
        folder = max(inside, key=lambda folder: len(folder.parts))
        return self.folders[folder] / place.relative_to(folder)

    def entries(self) -> Iterator[LayoutEntry]:
        """Yield all that is in the environment, folders before what is in them.

        Bytecode that goes meanwhile is left out. Raises OSError for what cannot be read.
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

        What leads into the environment, by any spelling of its path, leads into the copy; what
        leads out leads to where it led. What dangled still does. In a root file system it is the
        same, as programs inside follow it.
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
        """What a link in a real folder names, links before its last component followed."""
        before, last = os.path.split(text.rstrip("/"))
        if last in ("", ".", ".."):
            before, last = text, ""
        whole = str(Path(folder, before))
        if whole not in self._real:
            self._real[whole] = os.path.realpath(whole)
        return Path(self._real[whole], last)

    def _depth(self, link: LayoutEntry) -> int:
        """How many folders above the link's are in the same real folder."""
        real = Path(link.path).parent
        folder = max(
            (f for f in self.folders if real.is_relative_to(f)), key=lambda f: len(f.parts)
        )
        return len(real.relative_to(folder).parts)


def bytecode_may_go(path: str) -> AbstractContextManager[None]:
    """Return a block that ends quietly where `path` is bytecode of Python's that is gone by now.

    An environment that is in use has such files for moments; any other that goes is an error.
    """
    return unless_gone(path) if _BYTECODE.search(path) else nullcontext()


def _parents(pattern: str) -> list[str]:
    parts = pattern.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
