"""gzip by all processors is gzip, and the same however many these are."""

import gzip
import random
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.images import parallel_gzip
from trimtab.images.compression import Compression, decompressed
from trimtab.images.parallel_gzip import ParallelGzip

BLOCK_BYTES = 4096


@pytest.fixture(autouse=True, scope="module")
def short_blocks() -> Iterator[None]:
    """So that little data has many; a module's own so that hypothesis does not mind."""
    patch = pytest.MonkeyPatch()
    patch.setattr(parallel_gzip, "_BLOCK_BYTES", BLOCK_BYTES)
    yield
    patch.undo()


def packed(data: bytes, pieces: int) -> bytes:
    packing = ParallelGzip()
    length = -(-len(data) // pieces) or 1
    parts = [packing.compress(data[at : at + length]) for at in range(0, len(data), length)]
    return b"".join((*parts, packing.flush()))


@given(size=st.integers(0, 5 * BLOCK_BYTES), pieces=st.integers(1, 40), seed=st.integers(0, 9))
def test_what_is_packed_is_unpacked(size: int, pieces: int, seed: int) -> None:
    data = random.Random(seed).choices(b"ab \n", k=size)
    once = packed(bytes(data), pieces)
    assert gzip.decompress(once) == bytes(data)
    assert once == packed(bytes(data), 1)  # however it came
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    assert decoder.decompress(once) == bytes(data) and decoder.eof and not decoder.unused_data
    assert b"".join(decompressed([once], Compression.GZIP)) == bytes(data)


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES])
def test_ends_of_blocks(size: int) -> None:
    assert gzip.decompress(packed(bytes(size), 3)) == bytes(size)


def test_the_number_of_processors_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = random.Random(1).randbytes(20 * BLOCK_BYTES) * 2
    expected = packed(data, 7)
    for workers in (1, 3, 16):
        monkeypatch.setattr(parallel_gzip, "_WORKERS", workers)
        monkeypatch.setattr(parallel_gzip, "_MOST_WAITING", 2 * workers)
        assert packed(data, 7) == expected


def test_it_is_about_as_small_as_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_gzip, "_BLOCK_BYTES", 1 << 16)
    data = "".join(f"line {number} of {number * number}\n" for number in range(30_000)).encode()
    one = len(zlib.compress(data, 6))
    assert len(packed(data, 1)) < 1.02 * one
