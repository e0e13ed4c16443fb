"""A store of original libraries, from which slim environments fetch what was missed.

ROOT/{2 digits}/{32 digits}/{object}, the digits being the first ones of the library's SHA-256. An
object holds 64 chunks of 16 KiB, each an LZ4 block, and where they begin in it
(`native/fallback/store.h`). A library is stored once, however many environments were slimmed from
it; any file server can serve the folder.
"""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import sched_getaffinity
from pathlib import Path

import lz4.block
import numpy as np
from numpy.typing import NDArray

from trimtab.debloating.copies.held_folder import HeldFolder
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


def digests_of(path: Path, *, of_chunks: bool = True) -> LibraryDigests:
    """Return the digests of the library at `path`, which is read once.

    Without `of_chunks` there are none of these: they take as long as that of the whole.
    """
    whole, chunks, size_bytes = hashlib.sha256(), [], 0
    for data in _objects(path):
        whole.update(data)
        size_bytes += len(data)
        starts = range(0, len(data) if of_chunks else 0, CHUNK_BYTES)
        chunks += [
            hashlib.sha256(data[start : start + CHUNK_BYTES]).digest()[:DIGEST_BYTES]
            for start in starts
        ]
    return LibraryDigests(whole.digest(), chunks, size_bytes)


def add_to_store(root: Path, library: Path, digests: LibraryDigests) -> None:
    """Store a library below the folder `root`; an object that is there already stays."""
    folder = root / _place_of(digests)
    folder.mkdir(parents=True, exist_ok=True)

    def write(item: tuple[int, bytes]) -> None:
        path = folder / _name_of(item[0])
        if not path.exists():
            with whole_file(path) as temporary:
                temporary.write_bytes(_object(item[1], None))

    _for_each_object(library, digests, write)


def pack_into(
    top: HeldFolder,
    library: Path,
    digests: LibraryDigests,
    wanted: NDArray[np.bool_],
    mode: int = 0o644,
) -> None:
    """Store the chunks `wanted` (bool, one a chunk) of a library below `top`, where none is yet.

    `mode` is that of the new files.
    """
    with top.folder(_place_of(digests), make=True) as folder:

        def write(item: tuple[int, bytes]) -> None:
            first = item[0] * _OBJECT_CHUNKS
            chosen = wanted[first : first + _OBJECT_CHUNKS]
            if chosen.any():
                folder.write(_name_of(item[0]), _object(item[1], chosen), mode)

        _for_each_object(library, digests, write)


def _for_each_object(
    library: Path, digests: LibraryDigests, write: Callable[[tuple[int, bytes]], None]
) -> None:
    """Have all processors write a library's objects; most files are one, and not worth a thread."""
    numbered = enumerate(_objects(library))
    if digests.size_bytes <= _OBJECT_BYTES:
        for item in numbered:
            write(item)
        return
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        list(pool.map(write, numbered))


def _place_of(digests: LibraryDigests) -> str:
    name = digests.sha256[:DIGEST_BYTES].hex()
    return f"{name[:2]}/{name}"


def _name_of(number: int) -> str:
    return f"{number:06d}"


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
