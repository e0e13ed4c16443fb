"""Text of a recorded trace, plain or gzip, read with limits on its size.

Recorded traces are not trusted: a few kilobytes of gzip may expand to terabytes, a file may be a
pipe, and a line may be endless.
"""

import gzip
import io
from pathlib import Path

from trimtab.errors import TrimtabError, UserError
from trimtab.files import open_regular

MOST_GROWTH = 100  # recorded traces expand 20 times; gzip can expand 1,032 times
_ALWAYS_BYTES = 1 << 24  # a small file may always expand to this size
_LONGEST_LINE_BYTES = 1 << 24


def open_text(path: Path) -> io.BufferedReader:
    """Open the text file at `path`, decompressed where its name ends in .gz, as bytes.

    Raises UserError unless it is a regular file. Reading raises it where the file expands to more
    than MOST_GROWTH times its size, or has a line above 16 MiB. A damaged file raises OSError.
    """
    try:
        file = open_regular(path)
    except FileNotFoundError:
        raise
    except TrimtabError as error:
        raise UserError(str(error)) from None
    if path.suffix != ".gz":
        return io.BufferedReader(_Bounded(path, file, -1))
    most_bytes = max(_ALWAYS_BYTES, MOST_GROWTH * path.stat().st_size)
    return io.BufferedReader(_Bounded(path, gzip.GzipFile(fileobj=file), most_bytes))


class _Bounded(io.RawIOBase):
    """A reader of `file`, up to `most_bytes` (unlimited where negative)."""

    def __init__(
        self, path: Path, file: io.BufferedReader | gzip.GzipFile, most_bytes: int
    ) -> None:
        super().__init__()
        self._path, self._file, self._most_bytes = path, file, most_bytes
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
        if self._line_bytes > _LONGEST_LINE_BYTES:
            raise UserError(f"{self._path}: a line above {_LONGEST_LINE_BYTES:,} bytes")
        return count

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()
