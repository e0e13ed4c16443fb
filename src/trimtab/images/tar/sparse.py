"""The parts of a sparse file that a tar archive stores.

GNU tar has four formats: blocks after the header ("old GNU"), and PAX records of versions 0.0, 0.1
and 1.0 (GNU tar manual, "Storing Sparse Files"). Version 1.0 has the map before the content, as
decimal lines.
"""

from collections.abc import Iterable, Sequence

from trimtab.images.errors import DamagedError
from trimtab.images.tar.header import BLOCK_BYTES, number
from trimtab.images.tar.stream import ByteStream

Segments = tuple[tuple[int, int], ...]
MAP_KEYS = ("GNU.sparse.offset", "GNU.sparse.numbytes")
_MOST_MAP_BYTES = 1 << 20
_LARGEST_NUMBER_DIGITS = 20
_ROW_BYTES = 24  # of the old format: two numbers of 12 bytes
_ROWS_START, _ROWS, _MORE = 386, 4, 482  # in the header
_REAL_SIZE = slice(483, 495)
_EXTENSION_ROWS, _EXTENSION_MORE = 21, 504


def old_map(block: bytes, stream: ByteStream) -> tuple[int, Segments]:
    """Return the real size and the segments of an old GNU header; consumes its further blocks."""
    rows = _rows(block[_ROWS_START:], _ROWS)
    more, taken_bytes = block[_MORE], 0
    while more:
        extension = stream.take_all(BLOCK_BYTES)
        taken_bytes += BLOCK_BYTES
        if taken_bytes > _MOST_MAP_BYTES:
            raise _too_long()
        rows += _rows(extension, _EXTENSION_ROWS)
        more = extension[_EXTENSION_MORE]
    return number(block[_REAL_SIZE]), tuple(rows)


def _rows(data: bytes, count: int) -> list[tuple[int, int]]:
    rows = []
    for start in range(0, count * _ROW_BYTES, _ROW_BYTES):
        row = data[start : start + _ROW_BYTES]
        if row[12] == 0 and row[0] == 0:  # unused
            break
        rows.append((number(row[:12]), number(row[12:])))
    return rows


def map_of_records(records: Iterable[tuple[str, bytes]]) -> Segments:
    """Return the segments in PAX records of version 0.0 or 0.1."""
    numbers: list[bytes] = []
    for key, value in records:
        if key == "GNU.sparse.map":
            numbers = value.split(b",") if value else []
        elif key in MAP_KEYS:
            if key != MAP_KEYS[len(numbers) % 2]:
                raise DamagedError("a sparse file's map has an offset without a length")
            numbers.append(value)
    return _pairs([_decimal(text) for text in numbers])


def map_before_content(stream: ByteStream) -> tuple[int, Segments]:
    """Read the map of version 1.0; return its length in bytes, and the segments."""
    start = stream.position
    lines: list[bytes] = []
    rest = b""
    wanted = 1
    while len(lines) < wanted:
        if stream.position - start >= _MOST_MAP_BYTES:
            raise _too_long()
        *whole, rest = (rest + stream.take_all(BLOCK_BYTES)).split(b"\n")
        lines += whole
        if lines:
            wanted = 1 + 2 * _decimal(lines[0])
    return stream.position - start, _pairs([_decimal(line) for line in lines[1:wanted]])


def format_map(segments: Segments, size_bytes: int) -> bytes:
    """Return the map of version 1.0, in whole blocks; its last part is the end of the file."""
    parts = [*segments, (size_bytes, 0)]
    numbers = [len(parts), *(number for pair in parts for number in pair)]
    text = "".join(f"{number}\n" for number in numbers).encode()
    return text + bytes(-len(text) % BLOCK_BYTES)


def checked(segments: Segments, size_bytes: int, stored_bytes: int) -> Segments:
    """Return the segments without empty ones.

    Raises DamagedError unless they are ascending, inside the file and as long as the stored
    content.
    """
    end = 0
    for offset, length in segments:
        if offset < end or length < 0 or offset + length > size_bytes:
            raise DamagedError("a sparse file's parts overlap or lie beyond its end")
        end = offset + length
    if sum(length for _, length in segments) != stored_bytes:
        raise DamagedError("a sparse file's parts are not what is stored of it")
    return tuple(pair for pair in segments if pair[1])


def _pairs(numbers: Sequence[int]) -> Segments:
    if len(numbers) % 2:
        raise DamagedError("a sparse file's map has an offset without a length")
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > _LARGEST_NUMBER_DIGITS:
        raise DamagedError("a sparse file's map has something that is no number")
    return int(text)


def _too_long() -> DamagedError:
    return DamagedError(f"a sparse file's map has more than {_MOST_MAP_BYTES:,} bytes")
