"""Find what a lazy pull of an image has to fetch until its program is ready.

Lazy pulls fetch a file in chunks, each compressed by itself (eStargz, zstd:chunked), or parts of a
layer with such chunks in them (SOCI). They fetch an index, too, which is not counted here.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from trimtab.images.compression import Compression, compressor
from trimtab.profiling.cold_start.page_cache import Chunk, in_memory
from trimtab.records.images.cold_start import NeededFiles


def needed_files(files: Sequence[Path], compression: Compression) -> NeededFiles:
    """Return what of an image's `files` a program has read, as it is in the page cache.

    The chunks are read and compressed after that. Raises OSError as reading does.
    """
    found = in_memory(files)
    return NeededFiles(
        found.files,
        len(files),
        found.page_bytes,
        found.chunk_bytes,
        sum(path.lstat().st_size for path in files),
        sum(_compressed_bytes(chunk, compression) for chunk in found.chunks),
    )


def _compressed_bytes(chunk: Chunk, compression: Compression) -> int:
    descriptor = os.open(chunk.path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        data = os.pread(descriptor, chunk.size_bytes, chunk.first_byte)
    finally:
        os.close(descriptor)
    packing = compressor(compression)
    return len(packing.compress(data)) + len(packing.flush())
