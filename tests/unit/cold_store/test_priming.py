"""zlib begins at any bit of a byte, before any kind of block."""

import random
import zlib

import pytest

from trimtab.cold_store.node.priming import primed

WINDOW = random.Random(1).randbytes(1 << 15)


def deflated(text: bytes, level: int, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    stream = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 8, strategy, WINDOW)
    return stream.compress(text) + stream.flush()


@pytest.mark.parametrize("level", [0, 9])
@pytest.mark.parametrize("before", [0, 0xFF])
@pytest.mark.parametrize("bits", range(1, 8))
def test_what_follows_is_inflated(bits: int, before: int, level: int) -> None:
    """Blocks that hold nothing fill the `bits` and bytes after them; then come others."""
    skipped = 8 - bits
    below = before & (1 << skipped) - 1  # of the text before, to be ignored
    if bits % 2 == 0:  # of fixed codes: ten bits each
        blocks = sum(0b01 << 1 << 10 * number for number in range(bits // 2))
        count = 10 * (bits // 2)
        data = (below | blocks << skipped).to_bytes((skipped + count + 7) // 8, "little")
        assert (skipped + count) % 8 == 0
    else:  # a stored one: its three bits, filled up to a byte, and its length
        data = bytes([below]) + bytes(bits < 3) + b"\x00\x00\xff\xff"
    text = WINDOW[-20_000:] + b"plain " * 999
    stream = zlib.decompressobj(-zlib.MAX_WBITS, WINDOW)
    assert stream.decompress(primed(data[0], bits) + data[1:] + deflated(text, level)) == text
    assert stream.eof
