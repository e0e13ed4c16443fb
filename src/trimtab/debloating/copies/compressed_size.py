"""The compressed size of an environment, as an image layer is sent and stored."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from trimtab.debloating.copies.layout import EnvironmentLayout, LayoutEntry
from trimtab.files import open_regular, read_ahead
from trimtab.zstd import zstd

# Fast, and the default of engines; layers of our own images use a higher level.
LEVEL = 3
COMPRESSION = f"zstd, level {LEVEL}"
_PIECE_BYTES = 1 << 20


def compressed_bytes(layout: EnvironmentLayout, threads: int | None = None) -> int:
    """Return the bytes of all files of an environment, compressed as one stream.

    Files are in the order of their paths, each preceded by its path; a file with several names
    counts once. `threads` defaults to one per processor and does not change the result. Raises
    OSError for an unreadable file.
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
