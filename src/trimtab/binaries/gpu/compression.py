"""The two compressions of GPU code: LZ4 blocks, and zstd frames (RFC 8878).

What a payload decompresses to is bounded by its own bytes before anything is allocated, so that a
damaged or hostile size field costs nothing.
"""

from dataclasses import dataclass

import lz4.block
import zstandard

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MOST_UNCOMPRESSED_BYTES = 1 << 30
_LZ4_MOST_RATIO = 255  # one byte of a match length stands for at most 255 bytes
_ZSTD_BLOCK_BYTES = 128 << 10  # Block_Maximum_Size, RFC 8878 section 3.1.1.2.4
_ZSTD_HEADER_BYTES = 18
_RLE, _COMPRESSED = 1, 2


class CompressionError(ValueError):
    """Compressed bytes are damaged; the message says what is wrong and not where."""


class TooMuchWorkError(Exception):
    """A search read the same bytes over and over, as only a hostile file makes it do."""


@dataclass(slots=True)
class WorkLimit:
    """How many bytes a search may still walk over; what it finds it walks over once."""

    left_bytes: int

    def spend(self, walked_bytes: int) -> None:
        """Count bytes that were walked over. Raises TooMuchWorkError past the limit."""
        self.left_bytes -= walked_bytes
        if self.left_bytes < 0:
            raise TooMuchWorkError


@dataclass(frozen=True, slots=True)
class ZstdFrame:
    """One frame within a buffer, by offset: its first block's end, its own end, and its content.

    `most_bytes` bounds the content by the block headers; `content_bytes` is what the header
    declares, or None.
    """

    first_block_end: int
    end: int
    content_bytes: int | None
    most_bytes: int


def walk_zstd(data: memoryview, start: int, work: WorkLimit) -> ZstdFrame:
    """Follow the block headers of the frame at `start`, decompressing nothing.

    Raises CompressionError where these bytes are no whole frame.
    """
    limit = len(data)
    head = bytes(data[start : min(start + _ZSTD_HEADER_BYTES, limit)])
    try:
        parameters = zstandard.get_frame_parameters(head)
        position = start + zstandard.frame_header_size(head)
    except zstandard.ZstdError as error:
        raise CompressionError(f"is no zstd frame ({error})") from None
    if parameters.dict_id:
        raise CompressionError("is a zstd frame that needs a dictionary")
    content = parameters.content_size
    most, first_block_end, last = 0, 0, False
    while not last:
        if position + 3 > limit:
            raise CompressionError("is a zstd frame cut off before a block header")
        header = int.from_bytes(data[position : position + 3], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        if kind > _COMPRESSED or size > _ZSTD_BLOCK_BYTES:
            raise CompressionError("is a zstd frame with a block of no known kind or size")
        block_bytes = 3 + (1 if kind == _RLE else size)
        work.spend(block_bytes)
        position += block_bytes
        most += _ZSTD_BLOCK_BYTES if kind == _COMPRESSED else size
        first_block_end = first_block_end or position
    position += 4 if parameters.has_checksum else 0
    if position > limit:
        raise CompressionError("is a zstd frame cut off within a block")
    # The binding reports an absent content size as -1 or as 2**64 - 1, by version.
    declared = None if content in (-1, zstandard.CONTENTSIZE_UNKNOWN, (1 << 64) - 1) else content
    return ZstdFrame(first_block_end, position, declared, most)


def zstd_beginning(data: memoryview, start: int, frame: ZstdFrame) -> bytes:
    """Return the content of the first block of the frame at `start`: at most 128 KiB."""
    try:
        stream = zstandard.ZstdDecompressor().decompressobj()
        return bytes(stream.decompress(bytes(data[start : frame.first_block_end])))
    except zstandard.ZstdError as error:
        raise CompressionError(f"does not decompress ({error})") from None


def decompress_zstd(stored: bytes, declared_bytes: int) -> bytes:
    """Return the content of one zstd frame, which must be `declared_bytes` long.

    Raises CompressionError where it is damaged or of another length.
    """
    frame = walk_zstd(memoryview(stored), 0, WorkLimit(len(stored)))
    # The binding allocates what the frame itself declares.
    _check_bound(max(declared_bytes, frame.content_bytes or 0), frame.most_bytes)
    try:
        content = zstandard.ZstdDecompressor().decompress(
            stored[: frame.end], max_output_size=declared_bytes, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise CompressionError(f"does not decompress ({error})") from None
    return _checked(bytes(content), declared_bytes)


def decompress_lz4(stored: bytes, declared_bytes: int) -> bytes:
    """Return the content of one LZ4 block, which must be `declared_bytes` long.

    Raises CompressionError where it is damaged or of another length.
    """
    _check_bound(declared_bytes, len(stored) * _LZ4_MOST_RATIO)
    try:
        content = lz4.block.decompress(stored, uncompressed_size=declared_bytes)
    except lz4.block.LZ4BlockError as error:
        raise CompressionError(f"does not decompress ({error})") from None
    return _checked(bytes(content), declared_bytes)


def _check_bound(declared_bytes: int, most_bytes: int) -> None:
    most_bytes = min(most_bytes, MOST_UNCOMPRESSED_BYTES)
    if declared_bytes > most_bytes:
        raise CompressionError(
            f"declares {declared_bytes} bytes, but its compressed bytes hold at most {most_bytes}"
        )


def _checked(content: bytes, declared_bytes: int) -> bytes:
    if len(content) != declared_bytes:
        raise CompressionError(
            f"declares {declared_bytes} bytes, but its compressed bytes hold {len(content)}"
        )
    return content
