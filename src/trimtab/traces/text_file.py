"""Text of a recorded trace, plain or gzip, read with limits on its size.

Its content tells whether it is gzip. A byte order mark at its start is left out.

Recorded traces are not trusted: a few kilobytes of gzip may expand to terabytes, a file may be a
pipe, and a line may be endless.
"""

import codecs
import gzip
import io
import os
from pathlib import Path

from trimtab.errors import TrimtabError, UserError
from trimtab.files import open_regular

MOST_GROWTH = 100  # recorded traces expand 20 times; gzip can expand 1,032 times
_GZIP = b"\x1f\x8b"
_ALWAYS_BYTES = 1 << 24  # a small file may always expand to this size
_LONGEST_LINE_BYTES = 1 << 24


def open_text(path: Path, longest_line_bytes: int = _LONGEST_LINE_BYTES) -> io.BufferedReader:
    """Open the UTF-8 text file at `path`, decompressed where it is gzip, as bytes.

    Raises UserError unless it is a regular file. Reading raises it where the file expands to more
    than MOST_GROWTH times its size, or has a line above `longest_line_bytes`. A damaged file
    raises OSError, EOFError or zlib.error, here or while reading.
    """
    try:
        file = open_regular(path)
    except FileNotFoundError:
        raise
    except TrimtabError as error:
        raise UserError(str(error)) from None
    content: io.BufferedReader | gzip.GzipFile = file
    most_bytes = -1
    if file.peek(len(_GZIP))[: len(_GZIP)] == _GZIP:
        most_bytes = max(_ALWAYS_BYTES, MOST_GROWTH * os.fstat(file.fileno()).st_size)
        content = gzip.GzipFile(fileobj=file)
    text: io.BufferedReader = io.BufferedReader(
        _Bounded(path, content, most_bytes, longest_line_bytes)
    )
    try:
        if text.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
            text.read(len(codecs.BOM_UTF8))
    except BaseException:
        text.close()
        raise
    return text


class _Bounded(io.RawIOBase):
    """A reader of `file`, up to `most_bytes` (unlimited where negative)."""

    def __init__(
        self,
        path: Path,
        file: io.BufferedReader | gzip.GzipFile,
        most_bytes: int,
        longest_line_bytes: int,
    ) -> None:
        super().__init__()
        self._path, self._file, self._most_bytes = path, file, most_bytes
        self._longest_line_bytes = longest_line_bytes
        self._read_bytes = self._line_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        """Read into `buffer` and return the number of bytes, 0 at the end."""
        target = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        count: int = self._file.readinto(target)
        self._read_bytes += count
        if 0 <= self._most_bytes < self._read_bytes:
            raise UserError(
                f"{self._path}: more than {MOST_GROWTH} times as large when decompressed; no"
                " recorded trace is"
            )
        end = bytes(target[:count]).rfind(b"\n")
        self._line_bytes = count - end - 1 if end >= 0 else self._line_bytes + count
        if self._line_bytes > self._longest_line_bytes:
            raise UserError(f"{self._path}: a line above {self._longest_line_bytes:,} bytes")
        return count

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()
