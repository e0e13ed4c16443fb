"""A search of a whole file for things that begin with four known bytes."""

from collections.abc import Callable, Mapping

from trimtab.binaries.elf.reader import Elf

_WINDOW_BYTES = 4 << 20
_MAGIC_BYTES = 4


def scan_file(elf: Elf, readers: Mapping[bytes, Callable[[int], int | None]]) -> None:
    """Call the reader of each magic number at every offset where it stands, in file order.

    A reader gets the file offset and returns the end of what it found there, or None where the
    bytes only look like it; the search goes on behind it. The file is read in windows and what
    was found is skipped, so that a library without GPU code costs one reading.
    """
    window = bytearray(min(_WINDOW_BYTES, elf.size_bytes))
    position = 0
    with open(elf.path, "rb", buffering=0) as file:
        while position + _MAGIC_BYTES <= elf.size_bytes:
            file.seek(position)
            length = file.readinto(window)
            if length < _MAGIC_BYTES:  # the file became shorter
                return
            position = _scan_window(window, length, position, readers)


def _scan_window(
    window: bytearray,
    length: int,
    start: int,
    readers: Mapping[bytes, Callable[[int], int | None]],
) -> int:
    """Read what begins in the window that is at file offset `start`; return where to go on."""
    at = 0
    next_at = dict.fromkeys(readers, -1)
    while True:
        for magic, offset in next_at.items():
            if offset < at:
                hit = window.find(magic, at, length)
                next_at[magic] = length if hit < 0 else hit
        magic = min(next_at, key=next_at.__getitem__)
        hit = next_at[magic]
        if hit == length:
            # A magic number may stand across the window's end.
            return start + max(at, length - _MAGIC_BYTES + 1)
        end = readers[magic](start + hit)
        at = hit + 1 if end is None else end - start
