"""A store of original libraries and files, from which slim environments fetch missing pieces.

ROOT/{2 digits}/{32 digits}-{object}, where the digits begin the original's SHA-256. An object holds
64 chunks of 16 KiB, each an LZ4 block, and their offsets (`native/fallback/store.h`). An original
is stored once for all environments slimmed from it; any file server can serve the folder. Originals
have no folder each: most are one object, and a new folder costs a file system several times as much
as a new file.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import lz4.block
import numpy as np
from numpy.typing import NDArray

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.errors import UserError
from trimtab.files import open_regular, sha256_of, write_whole

CHUNK_BYTES = 16_384
DIGEST_BYTES = 16
_OBJECT_CHUNKS = 64
_OBJECT_BYTES = CHUNK_BYTES * _OBJECT_CHUNKS
_MAGIC = b"TRIMTABO"


@dataclass(frozen=True)
class LibraryDigests:
    """The SHA-256 of a library, and the first 16 bytes of the SHA-256 of each of its chunks."""

    sha256: bytes
    chunks: list[bytes]
    size_bytes: int


def digests_of(path: Path) -> LibraryDigests:
    """Return the digests of the library at `path`; the file is read once."""
    whole, chunks, size_bytes = hashlib.sha256(), [], 0
    for data in _objects(path):
        whole.update(data)
        size_bytes += len(data)
        chunks += [
            hashlib.sha256(data[start : start + CHUNK_BYTES]).digest()[:DIGEST_BYTES]
            for start in range(0, len(data), CHUNK_BYTES)
        ]
    return LibraryDigests(whole.digest(), chunks, size_bytes)


def whole_digest_of(path: Path) -> LibraryDigests:
    """Return the digests of the file at `path` without chunk digests; the file is read once."""
    size_bytes = path.stat().st_size
    return LibraryDigests(bytes.fromhex(sha256_of(path)), [], size_bytes)


def add_to_store(root: Path, library: Path, digests: LibraryDigests) -> None:
    """Store a library below the folder `root`; existing objects stay."""
    folder = root / _folder_of(digests.sha256)
    numbers = range(-(-digests.size_bytes // _OBJECT_BYTES))
    missing = [each for each in numbers if not (folder / _name_of(digests.sha256, each)).exists()]
    if not missing:
        return

    def write(number: int, data: bytes) -> None:
        write_whole(folder / _name_of(digests.sha256, number), _object(data, None))

    _for_each_object(library, missing, write)


def pack_into(
    top: DirectoryHandle,
    library: Path,
    digests: LibraryDigests,
    wanted: NDArray[np.bool_],
    mode: int = 0o644,
) -> None:
    """Store the chunks `wanted` (bool, one a chunk) of a library below `top`.

    The new files get `mode`.
    """
    starts = range(0, len(wanted), _OBJECT_CHUNKS)
    chosen = [wanted[start : start + _OBJECT_CHUNKS] for start in starts]
    with top.folder(_folder_of(digests.sha256), make=True) as folder:

        def write(number: int, data: bytes) -> None:
            folder.write(_name_of(digests.sha256, number), _object(data, chosen[number]), mode)

        _for_each_object(library, [at for at, each in enumerate(chosen) if each.any()], write)


def store_object(root: Path, sha256: bytes, number: int, data: bytes) -> None:
    """Store the object `number` of the original with this SHA-256 below the folder `root`."""
    write_whole(root / _folder_of(sha256) / _name_of(sha256, number), _object(data, None))


def stored_contents(root: Path, sha256: bytes, size_bytes: int) -> Iterator[bytes] | None:
    """Return the objects of an original in the store `root`, one after another.

    Of `sha256` the first DIGEST_BYTES suffice; the caller checks it. None if an object is missing;
    raises UserError for one that is damaged.
    """
    count = -(-size_bytes // _OBJECT_BYTES)
    folder = root / _folder_of(sha256)
    paths = [folder / _name_of(sha256, number) for number in range(count)]
    if not all(path.is_file() for path in paths):
        return None
    return (
        _contents(path, min(_OBJECT_BYTES, size_bytes - number * _OBJECT_BYTES))
        for number, path in enumerate(paths)
    )


def _contents(path: Path, size_bytes: int) -> bytes:
    data = path.read_bytes()
    ends = np.frombuffer(data, "<u4", _OBJECT_CHUNKS + 1, len(_MAGIC)).tolist()
    text = bytearray()
    for number, start in enumerate(range(0, size_bytes, CHUNK_BYTES)):
        block, expected = (
            data[ends[number] : ends[number + 1]],
            min(CHUNK_BYTES, size_bytes - start),
        )
        try:
            plain = len(block) == expected
            text += block if plain else lz4.block.decompress(block, uncompressed_size=expected)
        except lz4.block.LZ4BlockError:
            raise UserError(f"{path}: damaged; make the image slim again") from None
    return bytes(text)


def _for_each_object(
    library: Path, numbers: Sequence[int], write: Callable[[int, bytes], None]
) -> None:
    """Write objects of a library on all processors; a single object, as most have, needs no thread.

    Only these objects are read, and only the current ones are in memory.
    """
    with open_regular(library) as file:

        def read_and_write(number: int) -> None:
            write(number, os.pread(file.fileno(), _OBJECT_BYTES, number * _OBJECT_BYTES))

        if len(numbers) == 1:
            read_and_write(numbers[0])
            return
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(read_and_write, numbers))


def _folder_of(sha256: bytes) -> str:
    return sha256[:1].hex()


def _name_of(sha256: bytes, number: int) -> str:
    return f"{sha256[:DIGEST_BYTES].hex()}-{number:06d}"


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
