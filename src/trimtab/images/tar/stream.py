"""A stream of bytes from chunks, read forward."""

from collections.abc import Callable, Iterator
from typing import IO

from trimtab.images.errors import DamagedError

CHUNK_BYTES = 1 << 18


class ByteStream:
    """The results of `next_chunk` until it returns nothing; `position` counts the bytes read."""

    def __init__(self, next_chunk: Callable[[], bytes]) -> None:
        self._next_chunk = next_chunk
        self._chunk, self._start = b"", 0
        self.position = 0

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes, fewer only at the end."""
        end = self._start + count
        if end <= len(self._chunk):
            piece = self._chunk[self._start : end]
            self._start = end
            self.position += count
            return piece
        return b"".join(self._pieces(count))

    def take_all(self, count: int) -> bytes:
        """Return the next `count` bytes. Raises DamagedError if there are fewer."""
        taken = self.take(count)
        if len(taken) != count:
            raise DamagedError(f"cut off at byte {self.position}")
        return taken

    def pieces(self, count: int) -> Iterator[bytes]:
        """Yield the next `count` bytes in pieces. Raises DamagedError if there are fewer."""
        end = self.position + count
        yield from self._pieces(count)
        if self.position != end:
            raise DamagedError(f"cut off at byte {self.position}")

    def skip(self, count: int) -> None:
        """Skip `count` bytes. Raises DamagedError if there are fewer."""
        for _ in self.pieces(count):
            pass

    def _pieces(self, count: int) -> Iterator[bytes]:
        while count:
            if self._start == len(self._chunk):
                self._chunk, self._start = self._next_chunk(), 0
                if not self._chunk:
                    return
            end = min(len(self._chunk), self._start + count)
            whole = self._start == 0 and end == len(self._chunk)
            piece = self._chunk if whole else self._chunk[self._start : end]
            self._start = end
            self.position += len(piece)
            count -= len(piece)
            yield piece


class FileStream(ByteStream):
    """A stream of `size_bytes` of a file from `offset` on; skipping reads nothing."""

    def __init__(self, file: IO[bytes], offset: int, size_bytes: int) -> None:
        super().__init__(self._read)
        self._file, self._left_bytes = file, size_bytes
        file.seek(offset)

    def skip(self, count: int) -> None:
        """Skip `count` bytes. Raises DamagedError if there are fewer."""
        within = min(count, len(self._chunk) - self._start)
        beyond = count - within
        if beyond > self._left_bytes:
            raise DamagedError(f"cut off at byte {self.position + within + self._left_bytes}")
        self._start += within
        self.position += count
        if beyond:
            self._file.seek(beyond, 1)
            self._left_bytes -= beyond

    def _read(self) -> bytes:
        chunk = self._file.read(min(CHUNK_BYTES, self._left_bytes))
        self._left_bytes -= len(chunk)
        return chunk
