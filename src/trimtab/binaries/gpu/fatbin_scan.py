"""Search a whole file for structures that begin with a magic number of four bytes."""

from collections.abc import Callable, Mapping

from trimtab.binaries.elf.reader import Elf

_WINDOW_BYTES = 4 << 20
_MAGIC_BYTES = 4


def scan_file(elf: Elf, readers: Mapping[bytes, Callable[[int], int | None]]) -> None:
    """Call the reader of each magic number at each of its occurrences, in file order.

    A reader gets the file offset and returns the end of the structure there, or None for other
    bytes; the search continues after it. The file is read in windows, and structures are skipped,
    so a library without GPU code is read once.
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
    """Read the structures in the window at file offset `start`; return where to continue."""
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
            # A magic number may cross the window's end.
            return start + max(at, length - _MAGIC_BYTES + 1)
        end = readers[magic](start + hit)
        at = hit + 1 if end is None else end - start
