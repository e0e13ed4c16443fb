"""Names in archives: converted between bytes and text, and checked."""

from trimtab.images.errors import DamagedError

MOST_PATH_BYTES = 4096  # PATH_MAX
_MOST_NAME_BYTES = 255  # NAME_MAX


def decoded(name: bytes) -> str:
    """Return a name as text; invalid UTF-8 is decoded as by os.fsdecode."""
    return name.decode("utf-8", "surrogateescape")


def encoded(name: str) -> bytes:
    """Return the bytes of a name from `decoded`."""
    return name.encode("utf-8", "surrogateescape")


def clean_name(name: bytes) -> str:
    """Return a member's name relative to the top folder, whose name is "".

    Raises DamagedError for a name with `..` or NUL, or one longer than a system allows.
    """
    if len(name) > MOST_PATH_BYTES or b"\0" in name:
        raise DamagedError(f"the name {shown(name)} is longer than a path can be, or has a NUL")
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    for part in parts:
        if part == b".." or len(part) > _MOST_NAME_BYTES:
            raise DamagedError(f"the name {shown(name)} leads out of the image, or is too long")
    return decoded(b"/".join(parts))


def shown(name: bytes | str) -> str:
    """Return a name for an error, at most a line long."""
    text = decoded(name) if isinstance(name, bytes) else name
    return repr(text if len(text) <= 200 else text[:200] + "...")
