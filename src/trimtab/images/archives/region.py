"""A range of bytes of a file, checked for changes since it was found."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.files import open_regular, read_ahead
from trimtab.images.errors import ImageError
from trimtab.images.tar.stream import CHUNK_BYTES

_Identity = tuple[int, int, int, int]


@dataclass(frozen=True)
class FileRegion:
    """`size_bytes` of the file at `path`, from `offset` on."""

    path: Path
    offset: int
    size_bytes: int
    identity: _Identity

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """Open the file. Raises ImageError if it was written to since it was found."""
        with opened(self.path) as file:
            if identity_of(file) != self.identity:
                raise ImageError(self.path, "was written to while the image was read")
            yield file

    def chunks(self) -> Iterator[bytes]:
        """Yield its bytes."""
        left_bytes = self.size_bytes
        with self.open() as file:
            read_ahead(file)
            file.seek(self.offset)
            while left_bytes and (chunk := file.read(min(CHUNK_BYTES, left_bytes))):
                left_bytes -= len(chunk)
                yield chunk
        if left_bytes:
            raise ImageError(self.path, "was cut off while the image was read")

    def read(self, most_bytes: int) -> bytes:
        """Return its bytes. Raises ImageError above `most_bytes`."""
        if self.size_bytes > most_bytes:
            raise ImageError(
                self.path,
                f"has a document of {self.size_bytes:,} bytes; expected at most {most_bytes:,}",
            )
        return b"".join(self.chunks())


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a regular file. Raises ImageError for anything else, and OSError as open(2) does."""
    try:
        file = open_regular(path)
    except TrimtabError as error:
        raise ImageError(path, str(error).removeprefix(f"{path}: ")) from None
    with file:
        yield file


def identity_of(file: io.BufferedReader) -> _Identity:
    """Return values that change if a file is written to or replaced."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
