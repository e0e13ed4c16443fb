"""Format rules that the dynamic linker and unwinders rely on, checked before and after rewriting.

glibc trusts a library's tables: it also loads a library with wrong ones, whose behaviour then
depends on unspecified bytes. Such a library is not rewritten. The rules are those of the System V
gABI (chapters 4 and 5), its AMD64 supplement (4.4), the LSB (10.6, 10.7) and, for alignment,
glibc's `elf/dl-load.c`.
"""

from collections.abc import Iterable

import numpy as np

from trimtab.binaries.elf import dynamic_section as dt
from trimtab.binaries.elf.dynamic_section import (
    DynamicSection,
    check_code,
    read_dynamic_section,
)
from trimtab.binaries.elf.headers import (
    GPU_SECTIONS,
    HEADER,
    PAGE_BYTES,
    PF_X,
    PROGRAM_HEADER,
    PT_DYNAMIC,
    PT_GNU_EH_FRAME,
    PT_GNU_RELRO,
    PT_INTERP,
    PT_LOAD,
    PT_NULL,
    PT_PHDR,
    PT_TLS,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_NULL,
    ProgramHeader,
)
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.relocation_tables import ARRAYS, check_relocations
from trimtab.binaries.elf.symbol_tables import check_symbols
from trimtab.binaries.errors import ElfError

_ONCE = {PT_DYNAMIC, PT_GNU_EH_FRAME, PT_INTERP, PT_PHDR, PT_TLS, PT_GNU_RELRO}
_EH_FRAME_HDR_BYTES, _PCREL_SDATA4 = 8, 0x1B
_SHT_RELA, _SHT_REL = 4, 9


def format_violation(elf: Elf) -> str:
    """Return the rule that `elf` violates, or ""."""
    try:
        check_format(elf)
    except ElfError as error:
        return str(error).removeprefix(f"{elf.path}: ")
    return ""


def check_format(elf: Elf, whole: bool = True) -> list[tuple[int, int, str]]:
    """Raise ElfError if `elf` violates a rule that the dynamic linker relies on.

    Returns the file ranges [start, end) that it and unwinders find by address, with names.

    In a library that is not `whole` functions may lie on removed pages, even constructors: if no
    run loaded the library, the fallback restores them on a call. So may their unwind descriptions,
    if none of them is started.
    """
    _check_segments(elf)
    section = read_dynamic_section(elf)
    _check_placed_segments(elf, section)
    symbols = check_symbols(section, whole)
    check_relocations(section, symbols, whole)
    _check_functions(section, whole)
    if whole:
        _check_unwind_table(elf, section)
    _check_sections(elf, section, whole)
    _check_apart_from_headers(elf, section.ranges)
    return section.ranges


def _check_segments(elf: Elf) -> None:
    """Check the alignment that glibc requires, and that special segments occur at most once."""
    for load in elf.loads:
        if load.alignment % PAGE_BYTES or not load.alignment:
            raise ElfError(elf.path, f"has a segment at {load.address:#x} not aligned to pages")
        if (load.address - load.offset) % load.alignment:
            raise ElfError(
                elf.path, f"has a segment at {load.address:#x} unlike its offset in the file"
            )
    # The largest alignment places the whole library: in a compacted file the first segment needs
    # it.
    first, largest = elf.loads[0], max(load.alignment for load in elf.loads)
    if (first.address - first.offset) % largest:
        raise ElfError(elf.path, f"is not aligned to {largest:#x} bytes, as one segment asks for")
    kinds = [segment.type for segment in elf.segments if segment.type in _ONCE]
    for kind in set(kinds):
        if kinds.count(kind) > 1:
            raise ElfError(elf.path, f"has {kinds.count(kind)} segments of type {kind:#x}")


def _check_placed_segments(elf: Elf, section: DynamicSection) -> None:
    """Check that segments within loaded ones have the file offset of their address."""
    for segment in elf.segments:
        if segment.type == PT_GNU_RELRO:
            _check_protected(elf, segment)
        elif segment.type not in (PT_LOAD, PT_NULL) and segment.file_bytes:
            what = f"a segment of type {segment.type:#x}"
            if segment.type == PT_PHDR:
                _read_placed(section, segment, "program headers")
                section.ranges.pop()  # may be rewritten
                continue
            _read_placed(section, segment, what)
        if segment.type == PT_TLS and (
            segment.file_bytes > segment.memory_bytes or segment.alignment & (segment.alignment - 1)
        ):
            raise ElfError(elf.path, "has thread-local variables larger in the file than in memory")


def _read_placed(section: DynamicSection, segment: ProgramHeader, what: str) -> None:
    section.read(what, segment.address, segment.file_bytes)
    if section.ranges[-1][0] != segment.offset:
        raise ElfError(section.elf.path, f"has {what} at another offset than its address says")


def _check_protected(elf: Elf, segment: ProgramHeader) -> None:
    """Check that all pages that become read-only after relocation are mapped."""
    at = segment.address // PAGE_BYTES * PAGE_BYTES
    end = (segment.address + segment.memory_bytes) // PAGE_BYTES * PAGE_BYTES
    for load in elf.loads:
        if load.address // PAGE_BYTES * PAGE_BYTES <= at < load.address + load.memory_bytes:
            at = -(-(load.address + load.memory_bytes) // PAGE_BYTES) * PAGE_BYTES
    if at < end:
        raise ElfError(elf.path, f"protects memory at {at:#x} that no segment maps")


def _check_functions(section: DynamicSection, whole: bool) -> None:
    """Check constructors and destructors: arrays in segments, functions in code."""
    values = section.values
    for tag in (dt.DT_INIT, dt.DT_FINI):
        if whole and tag in values:
            where = np.array([values[tag]], np.uint64)
            check_code(section, "start-up or end code", where)
    for array, size in ARRAYS:
        if values.get(size, 0) and array in values:
            section.read("an array of constructors", values[array], values[size])


def _check_unwind_table(elf: Elf, section: DynamicSection) -> None:
    """Check that unwinders' sorted table leads to descriptions in segments."""
    header = next((s for s in elf.segments if s.type == PT_GNU_EH_FRAME), None)
    if header is None or header.file_bytes < _EH_FRAME_HDR_BYTES:
        return
    head = section.read("unwind table", header.address, header.file_bytes)
    if head[0] != 1 or head[1] != _PCREL_SDATA4:
        return
    distance = int(head[4:8].view("<i4")[0])
    if distance:
        section.rest_of_segment("unwind descriptions", header.address + 4 + distance)
    if header.file_bytes < 12 or (head[2], head[3]) != (0x03, 0x3B):
        return
    count = int(head[8:12].view("<u4")[0])
    if count > (header.file_bytes - 12) // 8:
        raise ElfError(elf.path, f"has an unwind table of {count} rows without room for them")
    rows = head[12 : 12 + count * 8].view("<i4").reshape(-1, 2)
    if (rows[1:, 0] < rows[:-1, 0]).any():
        raise ElfError(elf.path, "has an unwind table that is not sorted")
    places = rows[:, 1].astype(np.int64) + header.address
    if (elf.offsets_of(places) < 0).any():
        raise ElfError(elf.path, "has an unwind table that leads outside its segments")
    code = [(s.address, s.address + s.size) for s in elf.sections if s.flags & SHF_EXECINSTR]
    start, end = np.array(sorted(code) or [(0, 0)], np.int64).T
    within = np.searchsorted(start, places, "right") - 1
    if ((within >= 0) & (places < np.maximum.accumulate(end)[within.clip(min=0)])).any():
        raise ElfError(elf.path, "has unwind descriptions within code")


def _check_sections(elf: Elf, section: DynamicSection, whole: bool) -> None:
    """Check that section headers, if any, agree with segments and the dynamic section.

    In a library that is not `whole` a section of GPU code may span several segments.
    """
    tables = []
    in_file = [(load.offset, load.end) for load in elf.loads if load.file_bytes]
    for header in elf.sections:
        if header.type in (SHT_NULL, SHT_NOBITS) or not header.size:
            continue
        if not header.flags & SHF_ALLOC:
            for start, end in in_file:
                if header.offset < end and start < header.end:
                    raise ElfError(elf.path, f"has section {header.name} over what is loaded")
            continue
        load = section.load_at(header.address)
        if load is None or header.address - load.address + load.offset != header.offset:
            raise ElfError(elf.path, f"has section {header.name} where no segment has its bytes")
        of_pieces = not whole and header.name in GPU_SECTIONS
        if not of_pieces and header.address + header.size > load.address + load.file_bytes:
            raise ElfError(elf.path, f"has section {header.name} past the end of its segment")
        if header.flags & SHF_EXECINSTR:
            if not load.flags & PF_X:
                raise ElfError(elf.path, f"has code in section {header.name} that cannot run")
            for start, end, what in section.ranges:
                if start < header.end and header.offset < end:
                    raise ElfError(elf.path, f"has {what} within section {header.name}")
        if header.type == SHT_DYNSYM and header.address != section.values.get(dt.DT_SYMTAB):
            raise ElfError(elf.path, f"has other symbols than section {header.name} says")
        if header.type in (_SHT_RELA, _SHT_REL):
            tables.append((header.address, header.address + header.size))
    if elf.sections and elf.interpreter is None:
        _check_relocation_sections(section, tables)


def _check_relocation_sections(section: DynamicSection, tables: list[tuple[int, int]]) -> None:
    values = section.values
    named = [
        (values.get(table, 0), values.get(table, 0) + values.get(size, 0))
        for table, size in ((dt.DT_RELA, dt.DT_RELASZ), (dt.DT_JMPREL, dt.DT_PLTRELSZ))
    ]
    if _union(tables) != _union(named):
        raise ElfError(section.elf.path, "has other relocations than its section headers say")


def _union(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(interval for interval in intervals if interval[1] > interval[0]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _check_apart_from_headers(elf: Elf, ranges: list[tuple[int, int, str]]) -> None:
    """Check that no table lies over a header: headers are rewritten."""
    table = elf.program_header_offset
    headers = ((0, HEADER.size), (table, table + len(elf.segments) * PROGRAM_HEADER.size))
    for low, high in headers:
        for start, end, what in ranges:
            if start < high and low < end:
                raise ElfError(elf.path, f"has {what} over its headers")
