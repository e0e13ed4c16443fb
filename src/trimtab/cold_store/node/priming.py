"""Have zlib begin within a byte, as inflatePrime does, which Python's module lacks.

What comes before a checkpoint in its byte is replaced by blocks that hold nothing (RFC 1951, 3.2).
One with fixed codes has 10 bits, and one with codes of its own, written here, 95. Some of both end
at any bit of a byte, and all that follows stays in place. So stored blocks, which begin at a byte,
still do.
"""

_FIXED = (0b01 << 1, 10)  # its kind, then seven zeros: the code of a block's end
_KIND, _LITERALS, _DISTANCES, _CODE_LENGTHS = (0b10 << 1, 3), (0, 5), (0, 5), (15, 4)
# The lengths of the codes for lengths, in the order 16, 17, 18, 0, 8, 7, ...: 18 has one bit, 0
# and 1 have two. By them: 138 and 118 times no code (18), one of a bit (1) for a block's end, and
# no distance (0).
_LENGTHS = [{2: 1, 3: 2, 17: 2}.get(place, 0) for place in range(19)]
_ENCODED = [(0, 1), (138 - 11, 7), (0, 1), (118 - 11, 7), (0b11, 2), (0b01, 2), (0, 1)]
_OWN = [_KIND, _LITERALS, _DISTANCES, _CODE_LENGTHS, *((each, 3) for each in _LENGTHS), *_ENCODED]


def primed(byte: int, bits: int) -> bytes:
    """Return the start of a raw deflate stream whose next are the top `bits` (1 to 7) of `byte`."""
    skipped = 8 - bits
    value = count = 0
    fixed = skipped // 2 if skipped % 2 == 0 else (skipped + 1) // 2 % 4
    for number, size in (*(_OWN if skipped % 2 else ()), *([_FIXED] * fixed)):
        value |= number << count
        count += size
    assert count % 8 == skipped
    return (value | (byte >> skipped) << count).to_bytes(-(-count // 8), "little")
