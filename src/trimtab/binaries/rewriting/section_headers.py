"""Section headers of a rewritten file."""

from dataclasses import replace

from trimtab.binaries.elf.headers import (
    GPU_SECTIONS,
    PAGE_BYTES,
    SHF_ALLOC,
    SHT_NOBITS,
    SHT_NULL,
    ElfSection,
)
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.layout import CompactLayout
from trimtab.binaries.rewriting.locate import is_symbols
from trimtab.binaries.rewriting.spans import SpanReason, Spans

_GONE = ElfSection("", 0, SHT_NULL, 0, 0, 0, 0, 0, 0, 0, 0)


def without_symbols(elf: Elf, spans: Spans) -> list[ElfSection]:
    """Return the sections at their indexes, with unused entries for removed ones.

    Symbols and other headers refer to sections by index, so no index may change.
    """
    if not spans.bytes_of(SpanReason.SYMBOLS):
        return elf.sections
    return [_GONE if is_symbols(elf, section) else section for section in elf.sections]


def split_sections(sections: list[ElfSection], layout: CompactLayout) -> list[ElfSection]:
    """Return headers for the sections' bytes in the compacted file.

    The first piece of a section with holes keeps its index; the other pieces, with the same name,
    follow after all sections. Tools for GPU code read only one section and search all of it for
    regions. So its header covers all remaining bytes, whose pieces are adjacent. A removed section
    holds no bytes (SHT_NOBITS).
    """
    result, appended = [], []
    for section in sections:
        if section.type in (SHT_NULL, SHT_NOBITS) or not section.size:
            moved = section.offset if section.type == SHT_NULL else layout.translate(section.offset)
            result.append(replace(section, offset=moved))
            continue
        pieces = [_piece(section, a, b, layout) for a, b in _parts(section, layout)]
        if not pieces:
            nothing = replace(section, type=SHT_NOBITS, offset=layout.translate(section.offset))
            result.append(nothing)
            continue
        if section.name in GPU_SECTIONS:
            end = pieces[-1].offset + pieces[-1].size
            result.append(replace(pieces[0], size=end - pieces[0].offset))
            continue
        result.append(pieces[0])
        appended += pieces[1:]
    return result + appended


def _parts(section: ElfSection, layout: CompactLayout) -> list[tuple[int, int]]:
    parts = layout.pieces(section.offset, section.end)
    if not section.flags & SHF_ALLOC:
        # Kept whole: it may cross the boundary of two adjacent runs.
        return [(section.offset, section.end)] if parts else []
    table = int(layout.start[layout.table]) if layout.table >= 0 else -1
    return [part for part in parts if part[0] != table]


def _piece(section: ElfSection, start: int, end: int, layout: CompactLayout) -> ElfSection:
    whole = (start, end) == (section.offset, section.end)
    return replace(
        section,
        address=section.address + start - section.offset if section.address else 0,
        offset=layout.translate(start),
        size=end - start,
        alignment=section.alignment if whole else min(section.alignment, PAGE_BYTES),
    )
