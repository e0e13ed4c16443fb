"""Write the files of a new image, to a folder or to a tar file."""

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
    """The interface for adding files, each with its name."""

    @abstractmethod
    def add(self, write: Callable[[IO[bytes]], str]) -> None:
        """Add a file: `write` writes it and returns its name."""

    def add_data(self, name: str, data: bytes) -> None:
        """Add a file with these bytes."""

        def write(file: IO[bytes]) -> str:
            file.write(data)
            return name

        self.add(write)

    def add_blob(self, data: bytes) -> str:
        """Add bytes under their digest, and return the digest."""
        digest = digest_of(data)
        self.add_data(blob_name(digest), data)
        return digest


def blob_name(digest: str) -> str:
    """Return the path of a digest's content in a layout."""
    return f"blobs/{digest.replace(':', '/')}"


@contextmanager
def new_layout(destination: Path) -> Iterator[ImageWriter]:
    """Yield a writer for `destination`, which is replaced when the block succeeds.

    It is a tar file if its name ends in `.tar`, otherwise a folder.
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
        """Add a file; its header is written when its name and size are known."""
        start = self._file.tell()
        self._file.write(NO_BLOCK)
        name = write(self._file)
        size_bytes = self._file.tell() - start - len(NO_BLOCK)
        self._file.write(padding(size_bytes))
        self._file.seek(start)
        self._file.write(plain_header(name, size_bytes))
        self._file.seek(0, os.SEEK_END)
