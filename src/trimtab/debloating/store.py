"""A store of original libraries, from which slim environments fetch what was missed.

ROOT/{2 digits}/{SHA-256 of the library}/{object}: an object holds 64 chunks of 16 KiB, each an LZ4
block, and where they begin in it (`native/fallback/store.h`). A library is stored once, however
many environments were slimmed from it; any file server can serve the folder.
"""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import sched_getaffinity
from pathlib import Path

import lz4.block
import numpy as np
from numpy.typing import NDArray

from trimtab.files import whole_file

CHUNK_BYTES = 16_384
DIGEST_BYTES = 16
_OBJECT_CHUNKS = 64
_OBJECT_BYTES = CHUNK_BYTES * _OBJECT_CHUNKS
_MAGIC = b"TRIMTABO"


@dataclass(frozen=True)
class LibraryDigests:
    """The SHA-256 of a library, and the first 16 bytes of that of each of its chunks."""

    sha256: bytes
    chunks: list[bytes]
    size_bytes: int


def digests_of(path: Path) -> LibraryDigests:
    """Return the digests of the library at `path`, which is read once."""
    whole, chunks, size_bytes = hashlib.sha256(), [], 0
    for data in _objects(path):
        whole.update(data)
        size_bytes += len(data)
        chunks += [
            hashlib.sha256(data[start : start + CHUNK_BYTES]).digest()[:DIGEST_BYTES]
            for start in range(0, len(data), CHUNK_BYTES)
        ]
    return LibraryDigests(whole.digest(), chunks, size_bytes)


def add_to_store(
    root: Path, library: Path, digests: LibraryDigests, wanted: NDArray[np.bool_] | None = None
) -> None:
    """Store the chunks `wanted` (bool, one a chunk; all where None) of a library below `root`.

    With all of them wanted, an object that is there already stays: it is the same.
    """
    folder = root / digests.sha256.hex()[:2] / digests.sha256.hex()
    folder.mkdir(parents=True, exist_ok=True)

    def write(item: tuple[int, bytes]) -> None:
        number, data = item
        first = number * _OBJECT_CHUNKS
        chosen = None if wanted is None else wanted[first : first + _OBJECT_CHUNKS]
        path = folder / f"{number:06d}"
        if (chosen is None and path.exists()) or (chosen is not None and not chosen.any()):
            return
        with whole_file(path) as temporary:
            temporary.write_bytes(_object(data, chosen))

    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        list(pool.map(write, enumerate(_objects(library))))


def _objects(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(_OBJECT_BYTES):
            yield data


def _object(data: bytes, wanted: NDArray[np.bool_] | None) -> bytes:
    blocks = []
    for number, start in enumerate(range(0, len(data), CHUNK_BYTES)):
        chunk = data[start : start + CHUNK_BYTES]
        if wanted is not None and not wanted[number]:
            blocks.append(b"")
            continue
        block = lz4.block.compress(chunk, store_size=False)
        blocks.append(block if len(block) < len(chunk) else chunk)
    blocks += [b""] * (_OBJECT_CHUNKS - len(blocks))
    offsets = np.zeros(_OBJECT_CHUNKS + 1, "<u4")
    offsets[1:] = np.cumsum([len(block) for block in blocks])
    offsets += len(_MAGIC) + offsets.nbytes
    return _MAGIC + offsets.tobytes() + b"".join(blocks)
