"""A library that is loaded only for its names: it is not initialized, and none of its code can run.

The dynamic linker still maps and relocates it, resolves its symbols and copies its thread-local
variables; the bytes for this stay. Its constructors and destructors are removed from the dynamic
section (gABI chapter 5, initialization and termination functions).
"""

import struct
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import (
    PAGE_BYTES,
    PT_DYNAMIC,
    SHF_ALLOC,
    SHF_EXECINSTR,
    ElfSection,
)
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import RELOCATION, table_rows
from trimtab.binaries.rewriting.locate import LINKAGE_SECTIONS
from trimtab.binaries.rewriting.regions import Patch
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans
from trimtab.binaries.rewriting.start_up import SHF_TLS, SHF_WRITE, exported_data

NOTE = "only its start-up code ran: it is loaded, but not started any more"

_SHT_PROGBITS, _SHT_RELR, _SHT_UNWIND = 1, 19, 0x70000001
_CODE_AND_DATA = {_SHT_PROGBITS, 14, 15, 16, _SHT_UNWIND}  # 14 to 16: arrays of constructors
# The dynamic linker reads these (a lazy slot holds its stub's address), and so do unwinders.
_KEPT_SECTIONS = {".got", ".got.plt", ".interp", ".eh_frame_hdr"}
_DT_NULL, _DT_INIT, _DT_FINI = 0, 12, 13
_DT_INIT_ARRAYSZ, _DT_FINI_ARRAYSZ, _DT_PREINIT_ARRAYSZ = 27, 28, 33
_ENTRY = struct.Struct("<qQ")


def strip_initializers(elf: Elf, spans: Spans) -> Spans:
    """Return `spans` without the code of `elf` and the data that only this code reads.

    Kept are headers, the dynamic linker's tables, exported data, the initial values of thread-local
    variables, and pages that relocations write to.
    """
    canvas = Canvas(spans.end, spans.reason)
    relocated = _relocated_pages(elf)
    packed = any(section.type == _SHT_RELR for section in elf.sections)
    for section in elf.sections:
        if not section.flags & SHF_ALLOC or section.type not in _CODE_AND_DATA:
            continue
        if section.flags & SHF_EXECINSTR:
            if section.name not in LINKAGE_SECTIONS:
                _paint(canvas, section.offset, section.end, SpanReason.START_UP_CODE)
        elif _is_read_by_code_only(section, packed):
            _paint(canvas, section.offset, section.end, SpanReason.START_UP_DATA)
            if section.flags & SHF_WRITE:
                low = np.maximum(relocated, section.offset)
                high = np.minimum(relocated + PAGE_BYTES, section.end)
                canvas.paint(low, high, SpanReason.DATA)
    for start, end in exported_data(elf):
        place = int(elf.offsets_of(np.array([start]))[0])
        if place >= 0:
            _paint(canvas, place, min(place + end - start, elf.size_bytes), SpanReason.DATA)
    return replace(spans, end=canvas.end, reason=canvas.reason, note=NOTE)


def stop_patches(elf: Elf) -> tuple[Patch, ...]:
    """Return the changes of the dynamic section that disable constructors and destructors.

    Their arrays become empty. `DT_INIT` and `DT_FINI` become another size of the array that only
    programs have (`DT_PREINIT_ARRAY`), as no tag means a void entry.
    """
    patches = []
    for segment in elf.segments:
        if segment.type != PT_DYNAMIC:
            continue
        table = elf.data[segment.offset : segment.offset + segment.file_bytes // 16 * 16]
        for number, (tag, _) in enumerate(_ENTRY.iter_unpack(table.tobytes())):
            if tag == _DT_NULL:
                break
            if tag in (_DT_INIT, _DT_FINI):
                tag = _DT_PREINIT_ARRAYSZ
            if tag in (_DT_INIT_ARRAYSZ, _DT_FINI_ARRAYSZ, _DT_PREINIT_ARRAYSZ):
                entry = np.frombuffer(_ENTRY.pack(tag, 0), np.uint8)
                patches.append(Patch(segment.offset + number * _ENTRY.size, entry))
    return tuple(patches)


def _is_read_by_code_only(section: ElfSection, packed_relocations: bool) -> bool:
    """Whether only the library's own code reads a section of data.

    The targets of packed relocations (RELR) are not decoded; writable data then stays.
    """
    if section.flags & SHF_TLS or section.name in _KEPT_SECTIONS:
        return False
    return not (packed_relocations and section.flags & SHF_WRITE)


def _relocated_pages(elf: Elf) -> NDArray[np.int64]:
    """Return the file offsets of the pages that relocations write to, ascending."""
    tables = [table_rows(elf, name, RELOCATION) for name in (".rela.dyn", ".rela.plt")]
    slots = np.concatenate(tables)["slot"].astype(np.int64)
    # A slot's first and last byte: in packed structures it may cross a page boundary.
    places = elf.offsets_of(np.concatenate((slots, slots + 7)))
    pages: NDArray[np.int64] = np.unique(places[places >= 0] // PAGE_BYTES) * PAGE_BYTES
    return pages


def _paint(canvas: Canvas, start: int, end: int, reason: SpanReason) -> None:
    canvas.paint(np.array([start], np.int64), np.array([end], np.int64), reason)
