"""What an environment weighs compressed, as it is sent and stored in a layer of an image."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from trimtab.debloating.copies.layout import EnvironmentLayout, LayoutEntry
from trimtab.files import open_regular, read_ahead
from trimtab.zstd import zstd

# Fast, and what engines take where they are told nothing; layers of our own images have more.
LEVEL = 3
COMPRESSION = f"zstd, level {LEVEL}"
_PIECE_BYTES = 1 << 20


def compressed_bytes(layout: EnvironmentLayout, threads: int | None = None) -> int:
    """Return the bytes of all files of an environment, compressed as one stream.

    They come by their paths, each with its path before it, a file with several names once. It
    takes so many `threads`, by default one on each processor; how many they are changes nothing.
    Raises OSError for what cannot be read.
    """
    parameter = zstd.CompressionParameter
    compressor = zstd.ZstdCompressor(
        options={
            parameter.compression_level: LEVEL,
            parameter.nb_workers: threads or len(os.sched_getaffinity(0)),
        }
    )
    size_bytes = sum(len(compressor.compress(piece)) for piece in _pieces(layout))
    return size_bytes + len(compressor.flush())


def _pieces(layout: EnvironmentLayout) -> Iterator[bytes]:
    seen: set[tuple[int, int]] = set()
    for entry in sorted(layout.entries(), key=lambda entry: entry.name):
        yield os.fsencode(entry.name) + b"\0"
        identity = entry.status.st_dev, entry.status.st_ino
        if stat.S_ISREG(entry.status.st_mode) and identity not in seen:
            seen.add(identity)
            yield from _content(entry)


def _content(entry: LayoutEntry) -> Iterator[bytes]:
    with open_regular(Path(entry.path)) as file:
        read_ahead(file)
        while piece := file.read(_PIECE_BYTES):
            yield piece
