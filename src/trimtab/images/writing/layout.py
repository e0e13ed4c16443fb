"""The files of a new image, as a folder or in one tar file."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trimtab.files import atomic_write, naming, new_folder_beside, remove_tree, replace_folder
from trimtab.images.digest import digest_of
from trimtab.images.tar.header import NO_BLOCK
from trimtab.images.tar.writer import END_OF_ARCHIVE, padding, plain_header

TAR_SUFFIX = ".tar"


class ImageWriter(ABC):
    """Where files are added, each by its name."""

    @abstractmethod
    def add(self, write: Callable[[IO[bytes]], str]) -> None:
        """Add the file that `write` writes, by the name that it returns then."""

    def add_data(self, name: str, data: bytes) -> None:
        """Add a file with these bytes."""

        def write(file: IO[bytes]) -> str:
            file.write(data)
            return name

        self.add(write)

    def add_blob(self, data: bytes) -> str:
        """Add bytes by their digest, which is returned."""
        digest = digest_of(data)
        self.add_data(blob_name(digest), data)
        return digest


def blob_name(digest: str) -> str:
    """Return where a layout has what has this digest."""
    return f"blobs/{digest.replace(':', '/')}"


@contextmanager
def new_layout(destination: Path) -> Iterator[ImageWriter]:
    """Yield what becomes `destination` when the block ends well, in place of what is there.

    It is a tar file if its name ends so, else a folder.
    """
    if destination.suffix == TAR_SUFFIX:
        with atomic_write(destination) as temporary, temporary.open("wb") as file:
            yield _TarLayout(file)
            file.write(END_OF_ARCHIVE)
        return
    partial = new_folder_beside(destination)
    try:
        with naming(destination):
            yield _FolderLayout(partial)
        partial.chmod(0o755)
        replace_folder(partial, destination)
    except BaseException:
        remove_tree(partial)
        raise


class _FolderLayout(ImageWriter):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, write: Callable[[IO[bytes]], str]) -> None:
        unnamed = self._folder / "unnamed"
        with unnamed.open("xb") as file:
            path = self._folder / write(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        unnamed.rename(path)


class _TarLayout(ImageWriter):
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def add(self, write: Callable[[IO[bytes]], str]) -> None:
        """The header is written when name and size are known."""
        start = self._file.tell()
        self._file.write(NO_BLOCK)
        name = write(self._file)
        size_bytes = self._file.tell() - start - len(NO_BLOCK)
        self._file.write(padding(size_bytes))
        self._file.seek(start)
        self._file.write(plain_header(name, size_bytes))
        self._file.seek(0, os.SEEK_END)
