"""The size of a file, uncompressed and with zstd."""

import os
from dataclasses import dataclass
from pathlib import Path

from trimtab.disk_use import disk_bytes
from trimtab.files import read_ahead, sha256_of
from trimtab.zstd import zstd

_CHUNK_BYTES = 1 << 20
_COMPRESSION: dict[int, int] = {
    zstd.CompressionParameter.compression_level: zstd.COMPRESSION_LEVEL_DEFAULT,
    zstd.CompressionParameter.nb_workers: os.cpu_count() or 1,
}


@dataclass(frozen=True)
class FileSize:
    """The size of a file: its length, the blocks that it occupies, its length in zstd, its hash."""

    length_bytes: int
    disk_bytes: int
    compressed_bytes: int
    sha256: str


def size_of(path: Path) -> FileSize:
    """Measure the file at `path`; it is read in chunks of a MiB."""
    status = path.stat()
    compressed = 0
    compressor = zstd.ZstdCompressor(options=_COMPRESSION)
    with path.open("rb") as file:
        read_ahead(file)
        while chunk := file.read(_CHUNK_BYTES):
            compressed += len(compressor.compress(chunk))
    compressed += len(compressor.flush())
    return FileSize(status.st_size, disk_bytes(status), compressed, sha256_of(path))
