"""Remove constant data from a library's file, which is restored when it is read.

Unread constants are removed from libraries of data with hardly any code, such as ICU's tables of
all languages. Data for the dynamic linker always stays: it runs before the fallback.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.format_rules import check_format
from trimtab.binaries.elf.headers import (
    GPU_SECTIONS,
    PAGE_BYTES,
    PF_W,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_NOBITS,
    ElfSection,
)
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.locate import headers_of
from trimtab.binaries.rewriting.spans import REMOVED_DATA, Canvas, SpanReason, Spans, joined
from trimtab.binaries.rewriting.start_up import SHF_TLS, SHF_WRITE, exported_data

_SHT_PROGBITS = 1
_LEAST_DATA_TO_CODE = 256
# A program may copy an exported variable (R_X86_64_COPY); then the dynamic linker reads it. Nobody
# copies a whole archive.
_LARGEST_COPIED_BYTES = 1 << 16

Intervals = tuple[NDArray[np.int64], NDArray[np.int64]]


def without_unread_data(elf: Elf, spans: Spans) -> Spans:
    """Return `spans` without the constants of `elf`, if it is a library of data.

    Such a library has 256 times as many bytes of constants as of code. Exported variables of up to
    64 KiB stay. `elf` has to follow the format rules.
    """
    code = sum(s.size for s in elf.sections if s.flags & SHF_EXECINSTR)
    constants = [section for section in elf.sections if _is_constant(section)]
    size_bytes = sum(section.size for section in constants)
    if size_bytes < _LEAST_DATA_TO_CODE * code:
        return spans
    canvas = Canvas(spans.end, spans.reason)
    canvas.paint(*may_leave(elf, constants), SpanReason.UNREAD_DATA, over=(SpanReason.DATA,))
    exported = np.array(exported_data(elf), np.int64).reshape(-1, 2)
    exported = exported[exported[:, 1] - exported[:, 0] <= _LARGEST_COPIED_BYTES]
    start = elf.offsets_of(exported[:, 0])
    copied = joined(start, start + exported[:, 1] - exported[:, 0])
    canvas.paint(*copied, SpanReason.DATA, over=(SpanReason.UNREAD_DATA,))
    return replace(spans, end=canvas.end, reason=canvas.reason)


def with_read(spans: Spans, offsets: NDArray[np.int64]) -> Spans:
    """Return `spans` with all data kept on the pages of the file offsets (int64)."""
    pages = np.unique(offsets[(offsets >= 0) & (offsets < spans.size_bytes)] // PAGE_BYTES)
    start = pages * PAGE_BYTES
    end = np.minimum(start + PAGE_BYTES, spans.size_bytes)
    canvas = Canvas(spans.end, spans.reason)
    canvas.paint(start, end, SpanReason.DATA, over=REMOVED_DATA)
    return replace(spans, end=canvas.end, reason=canvas.reason)


def may_leave(elf: Elf, sections: Collection[ElfSection]) -> Intervals:
    """Return the removable bytes of `sections`: disjoint file intervals, ascending.

    They lie on whole pages of one read-only segment, in no other section, and are not needed while
    the library is loaded. `elf` has to follow the format rules.
    """
    canvas = Canvas.of(elf.size_bytes, SpanReason.DATA)
    chosen = set(map(id, sections))
    _paint(canvas, [(s.offset, s.end) for s in sections], SpanReason.UNREAD_DATA)
    others = [s for s in elf.sections if s.type != SHT_NOBITS and id(s) not in chosen]
    _paint(canvas, [(s.offset, s.end) for s in others], SpanReason.DATA)
    _paint(canvas, [(start, end) for start, end, _ in check_format(elf)], SpanReason.DATA)
    _paint(canvas, headers_of(elf), SpanReason.DATA)
    pages = Canvas.of(elf.size_bytes, SpanReason.DATA)
    read_only = [load for load in elf.loads if not load.flags & PF_W]
    whole = [
        (-(-load.offset // PAGE_BYTES) * PAGE_BYTES, load.end // PAGE_BYTES * PAGE_BYTES)
        for load in read_only
    ]
    _paint(pages, whole, SpanReason.UNREAD_DATA)
    stays = pages.reason == SpanReason.DATA
    start = np.concatenate((np.zeros(1, np.int64), pages.end[:-1]))
    canvas.paint(start[stays], pages.end[stays], SpanReason.DATA)
    leaves = canvas.reason == SpanReason.UNREAD_DATA
    start = np.concatenate((np.zeros(1, np.int64), canvas.end[:-1]))
    return start[leaves], canvas.end[leaves]


def _is_constant(section: ElfSection) -> bool:
    """Whether a section holds plain data that is never written."""
    varied = SHF_WRITE | SHF_EXECINSTR | SHF_TLS
    plain = section.type == _SHT_PROGBITS and section.flags & SHF_ALLOC
    return bool(plain and not section.flags & varied and section.name not in GPU_SECTIONS)


def _paint(canvas: Canvas, intervals: list[tuple[int, int]], reason: SpanReason) -> None:
    canvas.paint(*joined(*np.array(intervals, np.int64).reshape(-1, 2).T), reason)
