"""The dynamic section's entries, and the bytes at their virtual addresses.

Format: System V gABI, chapter 5, with GNU's tags.
"""

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import HEADER, PF_X, PT_DYNAMIC, ProgramHeader
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.errors import ElfError

DT_NULL, DT_NEEDED, DT_PLTRELSZ, DT_HASH, DT_STRTAB, DT_SYMTAB = 0, 1, 2, 4, 5, 6
DT_RELA, DT_RELASZ, DT_RELAENT, DT_STRSZ, DT_SYMENT, DT_INIT, DT_FINI = 7, 8, 9, 10, 11, 12, 13
DT_SONAME, DT_RPATH, DT_REL, DT_PLTREL, DT_TEXTREL, DT_JMPREL = 14, 15, 17, 20, 22, 23
DT_INIT_ARRAY, DT_FINI_ARRAY, DT_INIT_ARRAYSZ, DT_FINI_ARRAYSZ, DT_RUNPATH = 25, 26, 27, 28, 29
DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ, DT_RELRSZ, DT_RELR, DT_RELRENT = 32, 33, 35, 36, 37
DT_GNU_HASH, DT_VERSYM, DT_VERDEF, DT_VERNEED = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE
DT_AUXILIARY, DT_FILTER = 0x7FFFFFFD, 0x7FFFFFFF
ENTRY = struct.Struct("<qQ")


@dataclass(frozen=True, eq=False)
class DynamicSection:
    """The entries of a library's PT_DYNAMIC up to DT_NULL, as (tag, value).

    `ranges` collects the file ranges [start, end) of all calls of `read`, with their names.
    """

    elf: Elf
    entries: list[tuple[int, int]]
    ranges: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def values(self) -> dict[int, int]:
        """The value of each tag: as in glibc, the last entry counts."""
        return dict(self.entries)

    @cached_property
    def _loads(self) -> list[ProgramHeader]:
        return self.elf.loads

    def load_at(self, address: int) -> ProgramHeader | None:
        """Return the PT_LOAD whose memory holds the byte at a virtual address."""
        place = bisect_right(self._loads, address, key=lambda load: load.address) - 1
        if place < 0:
            return None
        load = self._loads[place]
        return load if address < load.address + load.memory_bytes else None

    def read(self, what: str, address: int, length: int) -> NDArray[np.uint8]:
        """Return the file's bytes that are loaded at a virtual address, as a view.

        Raises ElfError, with the name `what`, unless one segment holds all of them.
        """
        load = self.load_at(address)
        if load is None or address + length > load.address + load.file_bytes:
            raise ElfError(self.elf.path, f"has {what} at {address:#x} outside its segments")
        offset = address - load.address + load.offset
        self.ranges.append((offset, offset + length, what))
        return self.elf.data[offset : offset + length]

    def rest_of_segment(self, what: str, address: int) -> NDArray[np.uint8]:
        """Return the file's bytes from a virtual address to the end of its segment."""
        load = self.load_at(address)
        left = 0 if load is None else load.address + load.file_bytes - address
        if load is None or left <= 0:
            raise ElfError(self.elf.path, f"has {what} at {address:#x} outside its segments")
        return self.elf.data[load.offset + load.file_bytes - left :][:left]


def read_dynamic_section(elf: Elf) -> DynamicSection:
    """Return the entries of `elf`'s dynamic section.

    Raises ElfError unless there is exactly one, ended by DT_NULL.
    """
    segments = [segment for segment in elf.segments if segment.type == PT_DYNAMIC]
    if len(segments) != 1:
        raise ElfError(elf.path, f"has {len(segments)} dynamic sections; expected one")
    [segment] = segments
    bytes_ = elf.data[segment.offset :][: segment.file_bytes // ENTRY.size * ENTRY.size].tobytes()
    entries: list[tuple[int, int]] = []
    for tag, value in ENTRY.iter_unpack(bytes_):
        if tag == DT_NULL:
            return DynamicSection(elf, entries)
        entries.append((tag, value))
    raise ElfError(elf.path, "has a dynamic section without an end (DT_NULL)")


def check_code(section: DynamicSection, what: str, addresses: NDArray[np.uint64]) -> None:
    """Raise ElfError unless all addresses (uint64) are in code and outside the file header.

    The header is rewritten; it may be executable in files with few segments.
    """
    loads = [load for load in section.elf.loads if load.flags & PF_X]
    start = np.array([load.address for load in loads] or [0], np.uint64)
    end = np.array([load.address + load.memory_bytes for load in loads] or [0], np.uint64)
    held = np.searchsorted(start, addresses, "right").astype(np.int64) - 1
    good = (held >= 0) & (addresses < end[held.clip(min=0)])
    first = section.elf.loads[0]
    if first.offset == 0:
        good &= (addresses < first.address) | (addresses >= first.address + HEADER.size)
    if not good.all():
        where = int(addresses[~good][0])
        raise ElfError(section.elf.path, f"has {what} at {where:#x}, where there is no code")
