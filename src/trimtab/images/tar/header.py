"""The 512-byte block that begins each member of a tar archive.

POSIX.1-2017, pax, "ustar Interchange Format". The GNU format has other fields in place of the
prefix, and numbers in base 256 if they do not fit in octal.
"""

from dataclasses import dataclass

from trimtab.images.errors import DamagedError

BLOCK_BYTES = 512
NO_BLOCK = bytes(BLOCK_BYTES)
_USTAR, _GNU = b"ustar\0", b"ustar  \0"
_STAR_MARK = b"tar\0"  # at the end of the block; then the prefix is shorter
_PREFIX_START, _PREFIX_END, _STAR_PREFIX_END = 345, 500, 476
_CHECKSUM = slice(148, 156)
_SPACES = 8 * ord(" ")  # the checksum field itself counts as spaces


@dataclass(slots=True)
class TarHeader:
    """The block of a member; names are bytes, and PAX records may override fields."""

    name: bytes
    mode: int
    uid: int
    gid: int
    size_bytes: int
    mtime_s: int
    type: bytes
    target: bytes
    device: tuple[int, int]
    block: bytes


def parse_header(block: bytes) -> TarHeader:
    """Parse a block. Raises DamagedError for an invalid header or checksum."""
    expected = number(block[_CHECKSUM])
    found = sum(block) - sum(block[_CHECKSUM]) + _SPACES
    if found != expected and _signed_sum(block) != expected:
        raise DamagedError("a header's checksum is wrong, or this is no tar archive")
    magic = block[257:265]
    name = text(block[:100])
    if magic.startswith(_USTAR):
        star = block[508:512] == _STAR_MARK
        prefix = text(block[_PREFIX_START : _STAR_PREFIX_END if star else _PREFIX_END])
        name = prefix + b"/" + name if prefix else name
    has_device = block[156:157] in b"34"
    return TarHeader(
        name,
        number(block[100:108]) & 0o7777,
        number(block[108:116]),
        number(block[116:124]),
        number(block[124:136]),
        number(block[136:148]),
        block[156:157],
        text(block[157:257]),
        (number(block[329:337]), number(block[337:345])) if has_device else (0, 0),
        block,
    )


def text(field: bytes) -> bytes:
    """Return a field's bytes up to the first NUL."""
    return field.partition(b"\0")[0]


def number(field: bytes) -> int:
    """Return the number in a field: octal, or base 256 if its first bit is set.

    An empty field is 0. Raises DamagedError for anything else.
    """
    if field[0] & 0x80:
        value = int.from_bytes(field, "big")
        bits = 8 * len(field)
        return value - (1 << bits) if field[0] & 0x40 else value - (1 << bits - 1)
    digits = text(field.strip(b" \0")).rstrip(b" ")
    if not digits:
        return 0
    try:
        if digits.isdigit():
            return int(digits, 8)
    except ValueError:
        pass
    raise DamagedError(f"a header has {digits!r} where a number has to be")


def _signed_sum(block: bytes) -> int:
    """Return the sum of signed bytes, as in old programs."""
    high = sum(byte >= 0x80 for byte in block) - sum(byte >= 0x80 for byte in block[_CHECKSUM])
    return sum(block) - sum(block[_CHECKSUM]) + _SPACES - 256 * high


def with_checksum(block: bytes) -> bytes:
    """Return a header block with its checksum."""
    total = sum(block) - sum(block[_CHECKSUM]) + _SPACES
    return block[:148] + b"%06o\0 " % total + block[156:]
