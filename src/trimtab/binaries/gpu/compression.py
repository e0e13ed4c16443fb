"""The two compressions of GPU code: LZ4 blocks, and zstd frames (RFC 8878).

The decompressed size of a payload is bounded by its own bytes before any allocation, so a damaged
or hostile size field costs nothing. The file's size bounds the sum of all payloads.
"""

import threading
from dataclasses import dataclass, field
from typing import Self

import lz4.block

from trimtab.zstd import zstd

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# The largest program in the libraries of CUDA 13 has 134 MB (NCCL), and all programs of one library
# together 18.9 times its size (NVSHMEM; cuDNN 11.2, PyTorch 10.3).
MOST_UNCOMPRESSED_BYTES = 1 << 28
MOST_EXPANSION = 32
_LZ4_MOST_RATIO = 255  # one byte of a match length stands for at most 255 bytes
ZSTD_BLOCK_BYTES = 128 << 10  # Block_Maximum_Size, RFC 8878 section 3.1.1.2.4
_ZSTD_HEADER_BYTES = 18
_LEAST_BLOCK_WORK_BYTES = 64  # an empty block has 3 bytes, and takes as long to read
_FEW_BLOCKS_BYTES = 4096 * _LEAST_BLOCK_WORK_BYTES  # the largest program is 2,048 full blocks
_RLE, _COMPRESSED = 1, 2
_HAS_CHECKSUM, _CHECKSUM_BYTES = 1 << 2, 4
# A single-segment frame has a window as large as its content, which is already bounded.
_ANY_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 28}


class CompressionError(ValueError):
    """Compressed bytes are damaged; the message says how, without the place."""


class TooLargeError(CompressionError):
    """A payload would exceed the limit for decompressed bytes of its file."""


class TooMuchWorkError(Exception):
    """A search read the same bytes again and again, which only happens in a hostile file."""


@dataclass(slots=True)
class WorkLimit:
    """The number of bytes that a search may still read; its finds are read once."""

    left_bytes: int

    def spend(self, walked_bytes: int) -> None:
        """Count bytes that were read. Raises TooMuchWorkError past the limit."""
        self.left_bytes -= walked_bytes
        if self.left_bytes < 0:
            raise TooMuchWorkError


@dataclass(slots=True)
class Expansion:
    """The number of bytes that may still be decompressed from one file, in all threads together.

    The limit is `MOST_EXPANSION` times the file's size plus one largest program, so that a damaged
    program leaves enough for the others.
    """

    left_bytes: int
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def of(cls, file_bytes: int) -> Self:
        """Return the limit for a file of this size."""
        return cls(MOST_EXPANSION * file_bytes + MOST_UNCOMPRESSED_BYTES)

    def take(self, uncompressed_bytes: int) -> None:
        """Count bytes before their decompression. Raises TooLargeError past the limit."""
        with self._lock:
            if uncompressed_bytes > min(self.left_bytes, MOST_UNCOMPRESSED_BYTES):
                raise TooLargeError(
                    f"becomes {uncompressed_bytes} bytes; one program may be"
                    f" {MOST_UNCOMPRESSED_BYTES}, and all {MOST_EXPANSION} times their file"
                )
            self.left_bytes -= uncompressed_bytes


@dataclass(frozen=True, slots=True)
class ZstdFrame:
    """One frame within a buffer, by offset: its first block's end, its own end, and its content.

    `most_bytes` bounds the content by the block headers; `content_bytes` is the header's size, or
    None.
    """

    first_block_end: int
    end: int
    content_bytes: int | None
    most_bytes: int


def walk_zstd(data: memoryview, start: int, work: WorkLimit) -> ZstdFrame:
    """Follow the block headers of the frame at `start` without decompression.

    Raises CompressionError unless the bytes are a complete frame.
    """
    limit = len(data)
    head = bytes(data[start : min(start + _ZSTD_HEADER_BYTES, limit)])
    if not head.startswith(ZSTD_MAGIC):  # a skippable frame has another magic number
        raise CompressionError("is no zstd frame")
    try:
        declared = zstd.get_frame_info(head)
    except zstd.ZstdError:
        raise CompressionError("is no zstd frame") from None
    if declared.dictionary_id:
        raise CompressionError("is a zstd frame that needs a dictionary")
    position = start + zstd_header_bytes(head)
    most, first_block_end, last = 0, 0, False
    while not last:
        if position + 3 > limit:
            raise CompressionError("is a zstd frame cut off before a block header")
        header = int.from_bytes(data[position : position + 3], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        if kind > _COMPRESSED or size > ZSTD_BLOCK_BYTES:
            raise CompressionError("is a zstd frame with a block of no known kind or size")
        block_bytes = 3 + (1 if kind == _RLE else size)
        if block_bytes > limit - position:
            raise CompressionError("is a zstd frame cut off within a block")
        work.spend(max(block_bytes, _LEAST_BLOCK_WORK_BYTES))
        position += block_bytes
        most += ZSTD_BLOCK_BYTES if kind == _COMPRESSED else size
        first_block_end = first_block_end or position
    position += _CHECKSUM_BYTES if head[len(ZSTD_MAGIC)] & _HAS_CHECKSUM else 0
    if position > limit:
        raise CompressionError("is a zstd frame cut off before its checksum")
    return ZstdFrame(first_block_end, position, declared.decompressed_size, most)


def zstd_header_bytes(frame: bytes) -> int:
    """Return the length of a frame's header, from its descriptor (RFC 8878, section 3.1.1.1)."""
    descriptor = frame[len(ZSTD_MAGIC)]
    size_flag, single_segment = descriptor >> 6, descriptor >> 5 & 1
    content_size_bytes = 1 << size_flag if size_flag else single_segment
    window_bytes = 1 - single_segment
    return len(ZSTD_MAGIC) + 1 + window_bytes + (0, 1, 2, 4)[descriptor & 3] + content_size_bytes


def zstd_beginning(data: memoryview, start: int, frame: ZstdFrame) -> bytes:
    """Return the content of the first block of the frame at `start`: at most 128 KiB."""
    try:
        return zstd.ZstdDecompressor().decompress(data[start : frame.first_block_end])
    except zstd.ZstdError as error:
        raise CompressionError(f"does not decompress ({error})") from None


def decompress_zstd(stored: bytes, declared_bytes: int, expansion: Expansion) -> bytes:
    """Return the content of one zstd frame, which must be `declared_bytes` long.

    Raises CompressionError if it is damaged, has another length, or exceeds `expansion`.
    """
    try:
        frame = walk_zstd(memoryview(stored), 0, WorkLimit(len(stored) + _FEW_BLOCKS_BYTES))
    except TooMuchWorkError:
        raise CompressionError("is a zstd frame of too many blocks for its length") from None
    _check_bound(max(declared_bytes, frame.content_bytes or 0), frame.most_bytes, expansion)
    try:
        decoder = zstd.ZstdDecompressor(options=_ANY_WINDOW)
        content = decoder.decompress(stored[: frame.end], declared_bytes + 1)
    except zstd.ZstdError as error:
        raise CompressionError(f"does not decompress ({error})") from None
    return _checked(content, declared_bytes)


def decompress_lz4(stored: bytes, declared_bytes: int, expansion: Expansion) -> bytes:
    """Return the content of one LZ4 block, which must be `declared_bytes` long.

    Raises CompressionError if it is damaged, has another length, or exceeds `expansion`.
    """
    _check_bound(declared_bytes, len(stored) * _LZ4_MOST_RATIO, expansion)
    try:
        content = lz4.block.decompress(stored, uncompressed_size=declared_bytes)
    except lz4.block.LZ4BlockError as error:
        raise CompressionError(f"does not decompress ({error})") from None
    return _checked(bytes(content), declared_bytes)


def _check_bound(declared_bytes: int, most_bytes: int, expansion: Expansion) -> None:
    if declared_bytes > most_bytes:
        raise CompressionError(
            f"declares {declared_bytes} bytes, but its compressed bytes hold at most {most_bytes}"
        )
    expansion.take(declared_bytes)


def _checked(content: bytes, declared_bytes: int) -> bytes:
    if len(content) != declared_bytes:
        raise CompressionError(
            f"declares {declared_bytes} bytes, but its compressed bytes hold {len(content)}"
        )
    return content
