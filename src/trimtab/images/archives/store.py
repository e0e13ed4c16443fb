"""The files of an image, in a folder or in a tar file, by name."""

import os
from abc import ABC, abstractmethod
from pathlib import Path

from trimtab.images.archives.region import FileRegion, identity_of, opened
from trimtab.images.compression import Compression, compression_of
from trimtab.images.errors import DamagedError, ImageError, damage_of
from trimtab.images.node import FileType
from trimtab.images.tar.names import clean_name, encoded, shown
from trimtab.images.tar.reader import read_members
from trimtab.images.tar.stream import FileStream

_MOST_MEMBERS = 100_000
_MAGIC_BYTES = 6  # that identify a compression
_MOST_LINKS = 8  # in a chain of names


class Store(ABC):
    """The files below `path`, a folder or an archive."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, name: str) -> FileRegion | None:
        """Return the place of the file `name`; None if it is missing.

        Raises ImageError for a name that leads out.
        """
        with damage_of(self.path, "a name"):
            return self._find(clean_name(encoded(name)))

    def get(self, name: str) -> FileRegion:
        """Return the place of the file `name`. Raises ImageError if it is missing."""
        region = self.find(name)
        if region is None:
            raise ImageError(
                self.path,
                f"{shown(name)} is missing: it was not saved whole; save the image again",
            )
        return region

    @abstractmethod
    def _find(self, name: str) -> FileRegion | None: ...


def open_store(path: Path) -> Store:
    """Return the files of the image at `path`.

    Raises ImageError if it is neither a folder nor a tar file, and OSError if it is unreadable.
    """
    return _FolderStore(path) if path.is_dir() else _TarStore(path)


class _FolderStore(Store):
    def _find(self, name: str) -> FileRegion | None:
        top = self.path.resolve()
        try:
            path = (top / name).resolve()
        except (RuntimeError, OSError):  # the first before Python 3.13, the second since
            raise DamagedError(f"{shown(name)} is a link without end") from None
        if not path.is_relative_to(top):
            raise DamagedError(f"{shown(name)} is a link out of the image")
        if not path.is_file():
            return None
        with opened(path) as file:
            return FileRegion(path, 0, os.fstat(file.fileno()).st_size, identity_of(file))


class _TarStore(Store):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._files: dict[str, tuple[int, int]] = {}  # offset and size
        self._links: dict[str, str] = {}
        with opened(path) as file, damage_of(path, "not an image as engines save it"):
            self._identity = identity_of(file)
            if (found := compression_of(file.read(_MAGIC_BYTES))) is not Compression.NONE:
                raise DamagedError(f"a file compressed with {found}; decompress it first")
            self._read_names(FileStream(file, 0, os.fstat(file.fileno()).st_size))

    def _read_names(self, stream: FileStream) -> None:
        """Read the members; the last one of a name counts."""
        for number, (name, node, hard_link) in enumerate(read_members(stream)):
            if number == _MOST_MEMBERS:
                raise DamagedError(f"has more than {_MOST_MEMBERS:,} members")
            self._files.pop(name, None)
            self._links.pop(name, None)
            if node is None:
                self._links[name] = hard_link
            elif node.kind is FileType.LINK:
                self._links[name] = _led_to(name, node.target)
            elif node.kind is FileType.FILE and node.segments is None:
                self._files[name] = node.offset, node.size_bytes

    def _find(self, name: str) -> FileRegion | None:
        for _ in range(_MOST_LINKS):
            if name in self._files:
                return FileRegion(self.path, *self._files[name], self._identity)
            if name not in self._links:
                return None
            name = self._links[name]
        raise DamagedError(f"{shown(name)} is a link without end")


def _led_to(name: str, target: str) -> str:
    """Return the target of a link: engines save a repeated layer as a link."""
    joined = os.path.normpath(os.path.join(os.path.dirname("/" + name), target))  # noqa: PTH118, PTH120
    return joined.lstrip("/")
