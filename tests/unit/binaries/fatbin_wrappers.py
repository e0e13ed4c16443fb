"""The wrappers by which host code hands its fat binaries to the CUDA runtime."""

import struct
from dataclasses import dataclass

import numpy as np

from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import RELOCATION

_SECTION = ".nvFatBinSegment"
_MAGIC = 0x466243B1
_WRAPPER = struct.Struct("<IIQQ")
_DATA_POINTER_OFFSET = 8
_SHT_RELA = 4
_R_X86_64_RELATIVE = 8


@dataclass(frozen=True, slots=True)
class Wrapper:
    """One wrapper at file offset `offset`; its region is at `region_offset`, or None if unknown.

    Version 2 wraps a device-linked program; the regions it was linked from register themselves
    when the library is loaded, and its pointer to them is filled in only then.
    """

    offset: int
    version: int
    region_offset: int | None


def read_wrappers(elf: Elf) -> list[Wrapper]:
    """Return the wrappers of `.nvFatBinSegment`, through whose regions the runtime finds code.

    A pointer that the dynamic linker fills in is resolved through the relocations.
    """
    section = elf.section(_SECTION)
    if section is None:
        return []
    content = elf.data[section.offset : section.end].tobytes()
    pointers = _relocated(elf, section.address, section.address + section.size)
    wrappers = []
    for at in range(0, len(content) - _WRAPPER.size + 1, _WRAPPER.size):
        magic, version, data, _ = _WRAPPER.unpack_from(content, at)
        if magic != _MAGIC:
            continue
        address = pointers.get(section.address + at + _DATA_POINTER_OFFSET, data)
        region = -1
        if address < 1 << 63:
            region = int(elf.offsets_of(np.array([address], np.int64))[0])
        wrappers.append(Wrapper(section.offset + at, version, region if region >= 0 else None))
    return wrappers


def _relocated(elf: Elf, start: int, end: int) -> dict[int, int]:
    """Return the values that relocations without a symbol write to addresses in [start, end)."""
    values: dict[int, int] = {}
    for section in elf.sections:
        if section.type != _SHT_RELA:
            continue
        whole = (section.end - section.offset) // RELOCATION.itemsize * RELOCATION.itemsize
        rows = np.frombuffer(
            elf.data[section.offset : section.offset + whole].tobytes(), RELOCATION
        )
        inside = (rows["slot"] >= start) & (rows["slot"] < end)
        rows = rows[inside & (rows["type"] == _R_X86_64_RELATIVE) & (rows["addend"] >= 0)]
        values.update(zip(rows["slot"].tolist(), rows["addend"].tolist(), strict=True))
    return values
