"""The compressions of layers: none, gzip (RFC 1952) and zstd (RFC 8878).

A compressed layer may be a sequence of gzip members or zstd frames. Only a piece of its content is
in memory.
"""

import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Protocol

from trimtab.images.errors import DamagedError
from trimtab.images.parallel_gzip import ParallelGzip
from trimtab.zstd import zstd

PIECE_BYTES = 1 << 18
_MOST_WINDOW_LOG = 27  # 128 MiB, the default limit of `zstd`
_ZSTD_LEVEL = 9
_ZSTD_WORKERS = 4  # any positive number gives the same output
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE_END = b"\x2a\x4d\x18"  # after a byte from 0x50 to 0x5f
_REFUSED = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x04\x22\x4d\x18": "lz4"}


class Compression(StrEnum):
    """The compression of a layer."""

    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


class Compressor(Protocol):
    """The common interface of the libraries' compressors."""

    def compress(self, data: bytes, /) -> bytes:
        """Add `data` and return the output that is ready."""

    def flush(self) -> bytes:
        """Return the remaining output."""


def compression_of(head: bytes) -> Compression:
    """Return the compression of bytes that begin with `head`, at least six bytes if possible.

    Raises DamagedError for compressions that layers do not have.
    """
    if head.startswith(_GZIP_MAGIC):
        return Compression.GZIP
    if head.startswith(_ZSTD_MAGIC):
        return Compression.ZSTD
    if head[1:4] == _ZSTD_SKIPPABLE_END and head[0] >> 4 == 5:
        return Compression.ZSTD
    for magic, name in _REFUSED.items():
        if head.startswith(magic):
            raise DamagedError(f"compressed with {name}; expected gzip, zstd or none")
    return Compression.NONE


def decompressed(chunks: Iterable[bytes], compression: Compression) -> Iterator[bytes]:
    """Yield decompressed content, in pieces of at most PIECE_BYTES, except uncompressed.

    Raises DamagedError for damaged or truncated input.
    """
    if compression is Compression.GZIP:
        return _gunzipped(chunks)
    if compression is Compression.ZSTD:
        return _unzstd(chunks)
    return iter(chunks)


def compressor(compression: Compression) -> Compressor:
    """Return a compressor for a layer; its output depends only on its input."""
    if compression is Compression.GZIP:
        return ParallelGzip()
    if compression is Compression.ZSTD:
        parameter = zstd.CompressionParameter
        return zstd.ZstdCompressor(
            options={
                parameter.compression_level: _ZSTD_LEVEL,
                parameter.checksum_flag: 1,
                parameter.nb_workers: _ZSTD_WORKERS,
            }
        )
    return _Plain()


class _Plain:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def _gunzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = zlib.decompressobj(_GZIP_WINDOW)
    between = True  # between two members
    try:
        for chunk in chunks:
            while chunk:
                if piece := decoder.decompress(chunk, PIECE_BYTES):
                    yield piece
                between = decoder.eof
                chunk = decoder.unused_data if between else decoder.unconsumed_tail
                if between:
                    decoder = zlib.decompressobj(_GZIP_WINDOW)
    except zlib.error as error:
        raise DamagedError(f"is no gzip, or damaged ({error})") from None
    if not between:
        raise DamagedError("cut off within what gzip compressed")


def _unzstd(chunks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = _zstd_decoder()
    between = True  # between two frames
    try:
        for chunk in chunks:
            while chunk or not (between or decoder.needs_input):
                if piece := decoder.decompress(chunk, PIECE_BYTES):
                    yield piece
                between = decoder.eof
                chunk = decoder.unused_data if between else b""
                if between:
                    decoder = _zstd_decoder()
    except zstd.ZstdError as error:
        raise DamagedError(f"is no zstd, or damaged ({error})") from None
    if not between:
        raise DamagedError("cut off within what zstd compressed")


def _zstd_decoder() -> zstd.ZstdDecompressor:
    return zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: _MOST_WINDOW_LOG}
    )
