"""Locate the used code of a library: from functions to spans of the file."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.headers import (
    HEADER,
    PAGE_BYTES,
    PROGRAM_HEADER,
    SECTION_HEADER,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_NOBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
    ElfSection,
)
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans, joined

# Stubs written by the linker: one FDE may cover a whole table of them.
LINKAGE_SECTIONS = {".plt", ".plt.got", ".plt.sec", ".plt.bnd", ".iplt", ".init", ".fini"}
_SYMBOL_PREFIXES = (".debug", ".zdebug", ".gdb_index", ".gnu.build.attributes", ".gnu_debugdata")
_SYMBOL_NAMES = {".comment", ".symtab_shndx", ".note.gnu.gold-version"}
_PADDING_CHUNK_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 22
_LONGEST_ALIGNMENT_BYTES = 4096
# The bytes of no-operations of any length, int3 and zero fill. No sequence of them is a return,
# call or unconditional jump.
_JMP_REL8, _JMP_REL32 = 0xEB, 0xE9
_IS_PADDING = np.isin(np.arange(256), list(bytes.fromhex("000f1f2e404466808490cc")))


def locate(elf: Elf, functions: Functions, used: NDArray[np.bool_], keep_symbols: bool) -> Spans:
    """Return the spans of `elf` when only the functions marked in `used` (bool, (n,)) are kept.

    Only unused functions that lie in one executable section are removed. All code stays if the
    library has text relocations (they would write into removed pages), no section headers or no
    function table. Symbols are removed unless `keep_symbols`; zero bytes outside segments and
    sections always are.
    """
    if used.shape != functions.start.shape:
        raise ValueError(f"{used.shape} marks for {functions.start.shape} functions")
    canvas = Canvas.of(elf.size_bytes, SpanReason.PADDING)
    _keep_what_is_not_zero(elf, canvas)
    symbols = [] if keep_symbols else [s for s in elf.sections if is_symbols(elf, s)]
    removed = set(map(id, symbols))
    _paint(canvas, ((s.offset, s.end) for s in symbols), SpanReason.SYMBOLS)
    _paint(
        canvas, ((s.offset, s.end) for s in elf.sections if id(s) not in removed), SpanReason.DATA
    )
    _paint(canvas, ((s.offset, s.end) for s in elf.segments), SpanReason.DATA)
    _paint(canvas, _mapped_with(elf), SpanReason.DATA)
    code = [s for s in elf.sections if s.flags & SHF_EXECINSTR and s.flags & SHF_ALLOC]
    note = _why_whole(elf, functions)
    _paint(
        canvas,
        ((s.offset, s.end) for s in code),
        SpanReason.WHOLE if note else SpanReason.UNCOVERED,
    )
    if not note:
        start, end, unused = _within_sections(elf, functions, used, code)
        canvas.paint(
            start, end, np.where(unused, SpanReason.UNUSED, SpanReason.USED).astype(np.uint8)
        )
        canvas.paint(*_alignment(elf, start, end, unused), SpanReason.UNUSED)
    linkage = (s for s in code if s.name in LINKAGE_SECTIONS)
    _paint(canvas, ((s.offset, s.end) for s in linkage), SpanReason.LINKAGE)
    _paint(canvas, headers_of(elf), SpanReason.DATA)
    return Spans(canvas.end, canvas.reason, elf.build_id, note)


def _mapped_with(elf: Elf) -> list[tuple[int, int]]:
    """Return the bytes that are mapped together with segments, as pages are mapped whole.

    These pages stay, so keeping their bytes costs nothing.
    """
    return [
        (
            load.offset // PAGE_BYTES * PAGE_BYTES,
            min(-(-load.end // PAGE_BYTES) * PAGE_BYTES, elf.size_bytes),
        )
        for load in elf.loads
        if load.file_bytes
    ]


def left_as_it_is(elf: Elf, why: str) -> Spans:
    """Return the spans of `elf` with every byte kept, and the reason."""
    whole = Canvas.of(elf.size_bytes, SpanReason.WHOLE)
    return Spans(whole.end, whole.reason, elf.build_id, f"it is left as it is: {why}")


def is_symbols(elf: Elf, section: ElfSection) -> bool:
    """Whether a section is only for debuggers and linkers, so that `strip` removes it."""
    if section.flags & SHF_ALLOC or section.type == SHT_NOBITS:
        return False
    if section.type in (SHT_SYMTAB, SHT_STRTAB):
        return section is not elf.sections[elf.section_name_index]
    return section.name in _SYMBOL_NAMES or section.name.startswith(_SYMBOL_PREFIXES)


def _why_whole(elf: Elf, functions: Functions) -> str:
    if elf.has_text_relocations:
        return "all code is kept: it has text relocations"
    if not elf.sections:
        return "all code is kept: it has no section headers"
    return f"all code is kept: {functions.reason}" if functions.reason else ""


def _keep_what_is_not_zero(elf: Elf, canvas: Canvas) -> None:
    """Paint data over every nonzero byte outside segments and sections.

    Programs carry archives after their last section; only zeros are padding.
    """
    painted = Canvas.of(elf.size_bytes, SpanReason.PADDING)
    held = [(s.offset, s.end) for s in elf.sections] + [(s.offset, s.end) for s in elf.segments]
    _paint(painted, held, SpanReason.DATA)
    start = np.concatenate((np.zeros(1, np.int64), painted.end[:-1]))
    for low, high, reason in zip(start, painted.end, painted.reason, strict=True):
        if reason != SpanReason.PADDING:
            continue
        for chunk in range(low, high, _PADDING_CHUNK_BYTES):
            end = min(chunk + _PADDING_CHUNK_BYTES, high)
            if elf.data[chunk:end].any():
                _paint(canvas, [(chunk, end)], SpanReason.DATA)


def _within_sections(
    elf: Elf, functions: Functions, used: NDArray[np.bool_], code: list[ElfSection]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return start, end (file offsets) and mark of the functions that lie in one section."""
    address = functions.start.astype(np.int64)
    start = elf.offsets_of(address)
    end = start + functions.size.astype(np.int64)
    rows = sorted((s.offset, s.end, s.address) for s in code if s.end > s.offset)
    sections = np.array(rows or [(0, 0, 0)], np.int64)
    low, high, base = sections[np.searchsorted(sections[:, 0], start, "right") - 1].T
    within = (start >= low) & (end <= high) & (address - base == start - low)
    chosen = np.flatnonzero(within)
    chosen = chosen[np.argsort(start[chosen], kind="stable")]
    return start[chosen], end[chosen], ~used[chosen]


def _alignment(
    elf: Elf, start: NDArray[np.int64], end: NDArray[np.int64], unused: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the gaps before unused functions with only no-operations, or a jump over them.

    Such bytes only lead into the next function, which did not run.
    """
    low, high = end[:-1], start[1:]
    chosen = unused[1:] & (high > low) & (high - low <= _LONGEST_ALIGNMENT_BYTES)
    low, high = low[chosen], high[chosen]
    only_padding = np.zeros(low.shape, bool)
    for first in range(0, elf.size_bytes, _CHUNK_BYTES):
        here = slice(*np.searchsorted(low, (first, first + _CHUNK_BYTES)).tolist())
        if here.start == here.stop:
            continue
        code = elf.read(first, _CHUNK_BYTES + _LONGEST_ALIGNMENT_BYTES)
        place, end = low[here] - first, high[here] - first
        place = place + _leading_jump(code, place, end)
        length = end - place
        begin = np.cumsum(length) - length
        position = np.arange(length.sum()) + np.repeat(place - begin, length)
        only_padding[here] = np.logical_and.reduceat(_IS_PADDING[code[position]], begin)
    return low[only_padding], high[only_padding]


def _leading_jump(
    code: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the length of the jump with which an assembler skips a long gap, 0 without one."""
    opcode, length = code[start], end - start
    short = (opcode == _JMP_REL8) & (length > 2)
    short &= code[np.minimum(start + 1, code.size - 1)] == length - 2
    words = np.ndarray((code.size - 3,), "<i4", code, strides=(1,))
    long = (opcode == _JMP_REL32) & (length > 5)
    long &= words[np.minimum(start + 1, words.size - 1)] == length - 5
    return np.where(short, 2, np.where(long, 5, 0))


def headers_of(elf: Elf) -> list[tuple[int, int]]:
    """Return the file ranges of the headers and of the section names."""
    programs, sections = elf.program_header_offset, elf.section_header_offset
    names = elf.sections[elf.section_name_index : elf.section_name_index + 1]
    return [
        (0, HEADER.size),
        (programs, programs + len(elf.segments) * PROGRAM_HEADER.size),
        (sections, sections + len(elf.sections) * SECTION_HEADER.size),
        *((section.offset, section.end) for section in names),
    ]


def _paint(canvas: Canvas, intervals: Iterable[tuple[int, int]], reason: SpanReason) -> None:
    """Paint intervals that may overlap or be empty."""
    start, end = np.array(list(intervals), np.int64).reshape(-1, 2).T
    canvas.paint(*joined(start, end), reason)
