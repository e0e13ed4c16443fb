"""A store of originals: each is there once, whole, and what is there is not written again."""

import hashlib
import os
from pathlib import Path

import lz4.block
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.store import (
    CHUNK_BYTES,
    add_to_store,
    digests_of,
    pack_into,
    whole_digest_of,
)
from trimtab.errors import TrimtabError

OBJECT_BYTES = 64 * CHUNK_BYTES
LENGTHS = [0, 1, CHUNK_BYTES, OBJECT_BYTES - 1, OBJECT_BYTES, 2 * OBJECT_BYTES + CHUNK_BYTES + 5]


def content(size_bytes: int) -> bytes:
    """Return bytes half of which can be compressed."""
    random = np.random.default_rng(size_bytes).integers(0, 256, size_bytes, np.uint8)
    random[::2] = 7
    random[CHUNK_BYTES // 2 : CHUNK_BYTES] = 0
    return random.tobytes()


def stored(root: Path, original: bytes) -> dict[int, bytes]:
    """Return the chunks that a store has of an original, by number, as store.h says."""
    name = hashlib.sha256(original).hexdigest()[:32]
    chunks = {}
    for path in sorted((root / name[:2]).glob(f"{name}-*")):
        data = path.read_bytes()
        offsets = np.frombuffer(data[8 : 8 + 65 * 4], "<u4").tolist()
        assert data[:8] == b"TRIMTABO" and offsets[-1] == len(data)
        for at in range(64):
            block = data[offsets[at] : offsets[at + 1]]
            number = int(path.name.partition("-")[2]) * 64 + at
            size_bytes = min(CHUNK_BYTES, len(original) - number * CHUNK_BYTES)
            if block and len(block) < size_bytes:
                block = lz4.block.decompress(block, uncompressed_size=size_bytes)
            if block:
                chunks[number] = block
    return chunks


@pytest.mark.parametrize("size_bytes", LENGTHS)
def test_an_original_comes_back_whole(tmp_path: Path, size_bytes: int) -> None:
    library, root = tmp_path / "library", tmp_path / "store"
    library.write_bytes(content(size_bytes))
    digests = digests_of(library)
    assert (digests.sha256, digests.size_bytes) == (
        whole_digest_of(library).sha256,
        whole_digest_of(library).size_bytes,
    )
    add_to_store(root, library, digests)
    chunks = stored(root, content(size_bytes))
    assert b"".join(chunks[number] for number in sorted(chunks)) == content(size_bytes)
    assert [hashlib.sha256(chunks[n]).digest()[:16] for n in sorted(chunks)] == digests.chunks


def test_what_is_there_stays_and_is_not_read(tmp_path: Path) -> None:
    """One object that is missing is written again, and nothing else is left beside it."""
    library, root, whole = tmp_path / "library", tmp_path / "store", content(LENGTHS[-1])
    library.write_bytes(whole)
    digests = digests_of(library)
    add_to_store(root, library, digests)
    objects = {path: path.stat().st_ino for path in root.glob("??/*")}
    assert len(objects) == 3 and {path.stat().st_mode & 0o777 for path in objects} == {0o644}
    gone = sorted(objects)[1]
    gone.unlink()
    other = bytearray(whole)
    other[0] ^= 1  # of an object that is there: it is not looked at
    library.write_bytes(other)
    add_to_store(root, library, digests)
    assert set(root.glob("??/*")) == objects.keys()
    assert {path for path, inode in objects.items() if path.stat().st_ino == inode} >= (
        objects.keys() - {gone}
    )
    chunks = stored(root, whole)
    assert b"".join(chunks[number] for number in sorted(chunks)) == whole
    library.unlink()
    add_to_store(root, library, digests)  # all is there


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(0, 128)))
def test_no_more_is_packed_than_is_wanted(
    tmp_path_factory: pytest.TempPathFactory, numbers: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("packed")
    library, whole = folder / "library", content(LENGTHS[-1])
    library.write_bytes(whole)
    wanted = np.zeros(130, bool)
    wanted[sorted(numbers)] = True
    with DirectoryHandle.make(folder / "store") as top:
        pack_into(top, library, digests_of(library), wanted, 0o600)
    chunks = stored(folder / "store", whole)
    assert chunks == {
        number: whole[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES] for number in numbers
    }
    assert len(list((folder / "store").glob("??/*"))) == len({number // 64 for number in numbers})


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.write_bytes(b"a library")
    digests = digests_of(library)
    library.unlink()
    os.mkfifo(library)
    with pytest.raises(TrimtabError, match="not a file"):
        add_to_store(tmp_path / "store", library, digests)
