"""Program headers of a compacted file: segments are split at removed pages."""

from dataclasses import replace
from pathlib import Path

from trimtab.binaries.elf.headers import (
    PAGE_BYTES,
    PF_R,
    PF_X,
    PROGRAM_HEADER,
    PT_LOAD,
    PT_NULL,
    PT_PHDR,
    ProgramHeader,
)
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.layout import CompactLayout
from trimtab.errors import TrimtabError


def split_segments(elf: Elf, layout: CompactLayout) -> list[ProgramHeader]:
    """Return the program headers that map the kept runs of `layout` at their old addresses.

    Holes stay unmapped, so that calls and reads there fault. Removed data of a library that is not
    initialized is mapped as zeros, by a segment without file bytes. A read-only segment maps the
    table at the address of the pages that it took.
    """
    loads = [piece for load in elf.loads for piece in _pieces(load, layout)]
    loads += [piece for load in elf.loads for piece in _zeros(load, layout)]
    loads = _with_largest_alignment(elf, sorted(loads, key=lambda piece: piece.address))
    headers, placed = [], False
    for segment in elf.segments:
        if segment.type != PT_LOAD:
            headers.append(replace(segment, offset=layout.translate(segment.offset)))
        elif not placed:
            headers += loads
            placed = True
    return _with_table(elf, layout, headers) if layout.table >= 0 else headers


def unmap_headers(path: Path) -> None:
    """Unmap a compacted file's program headers from addresses of removed code.

    glibc keeps a copy of headers that no segment maps (`_dl_map_object_from_fd`). A file whose
    headers share a segment, as after `patchelf`, is unchanged.
    """
    elf = read_elf(path)
    table, length = elf.program_header_offset, len(elf.segments) * PROGRAM_HEADER.size
    if not any((load.offset, load.file_bytes) == (table, length) for load in elf.loads):
        return
    with path.open("r+b") as file:
        for number, segment in enumerate(elf.segments):
            if segment.type in (PT_LOAD, PT_PHDR) and segment.offset == table:
                file.seek(table + number * PROGRAM_HEADER.size)
                file.write(replace(segment, type=PT_NULL).pack())


def _pieces(load: ProgramHeader, layout: CompactLayout) -> list[ProgramHeader]:
    """Return the parts of one PT_LOAD, without the table's pages."""
    pieces = []
    parts = layout.pieces(load.offset, load.end) or [(load.offset, load.offset)]
    table = int(layout.start[layout.table]) if layout.table >= 0 else -1
    for start, end in parts:
        if start == table:
            continue
        last = end == load.end
        address = load.address + start - load.offset
        # A segment without file bytes has no place there; only its offset's remainder matters.
        offset = layout.translate(start) if load.file_bytes else address % PAGE_BYTES
        congruent = load.alignment and (address - offset) % load.alignment == 0
        length = end - start
        piece = replace(
            load,
            offset=offset,
            address=address,
            physical_address=load.physical_address + start - load.offset,
            file_bytes=length,
            memory_bytes=load.memory_bytes - (start - load.offset) if last else length,
            alignment=load.alignment if congruent else PAGE_BYTES,
        )
        if piece.memory_bytes:
            pieces.append(piece)
    return pieces


def _zeros(load: ProgramHeader, layout: CompactLayout) -> list[ProgramHeader]:
    """Return segments of zeros for removed data of this PT_LOAD."""
    zeros = []
    for start, end in layout.zeros:
        start, end = max(start, load.offset), min(end, load.end)
        if start >= end:
            continue
        address = load.address + start - load.offset
        piece = replace(
            load,
            flags=load.flags & ~PF_X,
            offset=address % PAGE_BYTES,
            address=address,
            physical_address=load.physical_address + start - load.offset,
            file_bytes=0,
            memory_bytes=end - start,
            alignment=PAGE_BYTES,
        )
        zeros.append(piece)
    return zeros


def _with_largest_alignment(elf: Elf, loads: list[ProgramHeader]) -> list[ProgramHeader]:
    """Give the first segment the largest alignment: glibc aligns the library to the maximum.

    The first segment never moves. Raises TrimtabError if its address is not aligned.
    """
    largest, first = max(load.alignment for load in elf.loads), loads[0]
    if largest <= max(load.alignment for load in loads):
        return loads
    if (first.address - first.offset) % largest:
        raise TrimtabError(f"{elf.path}: its alignment of {largest:#x} bytes cannot be kept")
    return [replace(first, alignment=largest), *loads[1:]]


def _with_table(
    elf: Elf, layout: CompactLayout, headers: list[ProgramHeader]
) -> list[ProgramHeader]:
    """Add the segment that maps the table and let PT_PHDR point to it."""
    start = int(layout.start[layout.table])
    owner = next(load for load in elf.loads if load.offset <= start < load.end)
    address = owner.address + start - owner.offset
    length = (len(headers) + 1) * PROGRAM_HEADER.size
    table = ProgramHeader(
        PT_LOAD,
        PF_R,
        layout.translate(start),
        address,
        owner.physical_address + start - owner.offset,
        length,
        length,
        PAGE_BYTES,
    )
    place = next(
        (i for i, h in enumerate(headers) if h.type == PT_LOAD and h.address > address),
        max(i for i, h in enumerate(headers) if h.type == PT_LOAD) + 1,
    )
    headers = [*headers[:place], table, *headers[place:]]
    return [replace(table, type=PT_PHDR, alignment=8) if h.type == PT_PHDR else h for h in headers]
