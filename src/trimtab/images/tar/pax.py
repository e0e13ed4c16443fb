"""PAX extended headers: records `LENGTH KEY=VALUE\\n` (POSIX.1-2017, pax, "Extended Header")."""

import re

from trimtab.images.errors import DamagedError

_LENGTH = re.compile(rb"([0-9]{1,10}) ")
_SECONDS = re.compile(r"(-?)([0-9]{1,18})(?:\.([0-9]*))?")
_NANO_DIGITS = 9
XATTR = "SCHILY.xattr."  # of star; engines read it


def parse_records(data: bytes) -> list[tuple[str, bytes]]:
    """Return keys and values in order; some keys of sparse files occur repeatedly.

    Raises DamagedError unless `data` is a sequence of records.
    """
    records = []
    start = 0
    while start < len(data):
        match = _LENGTH.match(data, start)
        end = start + int(match[1]) if match else 0
        if not match or end <= match.end() or data[end - 1 : end] != b"\n":
            raise DamagedError("a PAX header is not made of records")
        key, equals, value = data[match.end() : end - 1].partition(b"=")
        if not equals or not key:
            raise DamagedError("a PAX header has a record without a key")
        records.append((key.decode("utf-8", "surrogateescape"), value))
        start = end
    return records


def format_record(key: str, value: bytes) -> bytes:
    """Return a record; its length includes the digits of the length."""
    rest = b" " + key.encode("utf-8", "surrogateescape") + b"=" + value + b"\n"
    length = len(rest) + 1
    while length != len(rest) + len(str(length)):
        length = len(rest) + len(str(length))
    return str(length).encode() + rest


def parse_number(key: str, value: bytes) -> int:
    """Parse a decimal number. Raises DamagedError for any other `value`."""
    if not value.isdigit() or len(value) > 20:
        raise DamagedError(f"a PAX header's {key} is no number")
    return int(value)


def parse_time_ns(value: bytes) -> int:
    """Parse a time in seconds, with or without a fraction, to whole nanoseconds."""
    match = _SECONDS.fullmatch(value.decode("ascii", "replace"))
    if not match:
        raise DamagedError("a PAX header's mtime is no number of seconds")
    sign, seconds, fraction = match.groups()
    digits = (fraction or "")[:_NANO_DIGITS].ljust(_NANO_DIGITS, "0")
    ns = int(seconds + digits)
    return -ns if sign else ns


def format_time_ns(time_ns: int) -> bytes:
    """Format a time in nanoseconds as seconds, with a fraction if needed."""
    sign = "-" if time_ns < 0 else ""
    seconds, ns = divmod(abs(time_ns), 10**_NANO_DIGITS)
    fraction = f".{ns:09}".rstrip("0") if ns else ""
    return f"{sign}{seconds}{fraction}".encode()
