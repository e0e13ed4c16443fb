"""The fallback's own LZ4 decompressor, beside the LZ4 library's compressor."""

import ctypes
import random
import subprocess
from pathlib import Path

import lz4.block
import pytest
from hypothesis import given
from hypothesis import strategies as st

SOURCE = Path(__file__).parents[3] / "native/fallback/lz4.c"
_GUARD = b"\xa5" * 64  # behind the room that it has


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("c") / "lz4.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", path, SOURCE], check=True)
    library = ctypes.CDLL(str(path))
    library.lz4_block.restype = ctypes.c_size_t
    return library


def unpacked(in_c: ctypes.CDLL, block: bytes, room: int) -> bytes:
    to = ctypes.create_string_buffer(bytes(room) + _GUARD)
    length = in_c.lz4_block(block, ctypes.c_size_t(len(block)), to, ctypes.c_size_t(room))
    assert length <= room and to.raw[room:-1] == _GUARD
    return to.raw[:length]


@given(
    repeated=st.binary(min_size=1, max_size=40),
    size=st.integers(1, 2000),
    seed=st.integers(0, 99),
    plain=st.integers(0, 300),
)
def test_what_is_packed_is_unpacked(
    in_c: ctypes.CDLL, repeated: bytes, size: int, seed: int, plain: int
) -> None:
    """Matches at every distance, that go on into themselves, between bytes that match nothing."""
    head = random.Random(seed).randbytes(plain)
    data = head + (repeated * (size // len(repeated) + 1))[:size] + head[: plain // 2]
    block = lz4.block.compress(data, store_size=False)
    assert unpacked(in_c, block, len(data)) == data
    assert unpacked(in_c, block, len(data) - 1) == b""


@given(seed=st.integers(0, 10_000), changed=st.binary(min_size=1, max_size=4))
def test_damaged_blocks_stay_in_their_room(in_c: ctypes.CDLL, seed: int, changed: bytes) -> None:
    numbers = random.Random(seed)
    data = bytes(numbers.choices(b"abc", k=numbers.randrange(1, 500)))
    block = bytearray(lz4.block.compress(data, store_size=False))
    at = numbers.randrange(len(block))
    block[at : at + len(changed)] = changed
    unpacked(in_c, bytes(block), len(data))
