"""Damage to libraries: small changes where they matter, in headers and tables."""

import random
import struct
from pathlib import Path

from trimtab.binaries.elf.headers import PT_LOAD, SHT_NOBITS
from trimtab.binaries.elf.reader import Elf, read_elf

_NUMBERS = (0, 1, 2, 7, 8, 0x10, 0x18, 0xFFF, 0x1000, 0x1001, 0x2000, 0x10000, 0x7FFFFFFF,
            0x80000000, 0xFFFFFFFF, 1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
_ROWS = (4, 8, 16, 24, 40, 56, 64)


class Mutator:
    """Makes damaged copies of the library at `path`, others for each `seed`."""

    def __init__(self, path: Path) -> None:
        self.data, self._elf = path.read_bytes(), read_elf(path)
        self._regions = _regions(self._elf)

    def mutant(self, seed: int) -> bytes:
        """Return a copy with one to three changes."""
        chance, data = random.Random(seed), bytearray(self.data)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            start, end = chance.choice(self._regions)
            _change(chance, data, start, max(end, start + 1))
        return bytes(data)


def _regions(elf: Elf) -> list[tuple[int, int]]:
    """Return where changes go, as often as they are to go there."""
    size = elf.size_bytes
    programs = elf.program_header_offset
    regions = [(0, 64)] + [(programs, programs + 56 * len(elf.segments))] * 4
    if elf.sections:
        table = elf.section_header_offset
        regions += [(table, table + 64 * len(elf.sections))] * 4
    # What lies in a segment and is no code: dynamic section, symbols, names, hashes, relocations.
    for section in elf.sections:
        if section.size and section.type != SHT_NOBITS:
            often = 1 if section.name in (".text", ".comment", ".symtab", ".strtab") else 2
            regions += [(section.offset, section.end)] * often
    for segment in elf.segments:
        if segment.file_bytes and segment.type != PT_LOAD:
            regions += [(segment.offset, segment.end)] * 2
    first = elf.loads[0]
    regions += [(first.offset, first.end), (0, size)]
    return [(low, min(high, size)) for low, high in regions if low < size]


def _change(chance: random.Random, data: bytearray, start: int, end: int) -> None:
    at = chance.randrange(start, end)
    kind = chance.randrange(7)
    if kind == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at] = chance.randrange(256)
    elif kind in (2, 3):
        width, code = chance.choice(((2, "<H"), (4, "<I"), (8, "<Q")))
        at -= (at - start) % width
        if at + width <= len(data):
            [value] = struct.unpack_from(code, data, at)
            if kind == 2:
                value = chance.choice((*_NUMBERS, len(data)))
            else:
                value += chance.choice((-4096, -64, -16, -8, -1, 1, 8, 16, 24, 64, 4096))
            struct.pack_into(code, data, at, value % (1 << (8 * width)))
    else:
        row = chance.choice(_ROWS)
        rows = (end - start) // row
        if rows < 1:
            return
        one = start + row * chance.randrange(rows)
        other = start + row * chance.randrange(rows)
        if max(one, other) + row > len(data):
            return
        moved = data[one : one + row]
        if kind == 4:
            data[one : one + row] = data[other : other + row]
        if kind in (4, 5):
            data[other : other + row] = moved
        else:
            data[one : one + row] = bytes(row)
