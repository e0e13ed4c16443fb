"""Remove the unwind tables of removed functions.

An unwinder reads the description of a running function, which it finds by the sorted table in
`.eh_frame_hdr`; this table stays. So nobody reads the description of a removed function. After the
function is restored, a read restores its description too.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import SHF_ALLOC
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.relations.unwind_tables import UnwindTables, read_unwind_tables
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans, distinct, joined
from trimtab.binaries.rewriting.unread_data import Intervals, may_leave

_DESCRIPTIONS, _EXCEPTIONS = ".eh_frame", ".gcc_except_table"


def without_unwind_tables(elf: Elf, spans: Spans) -> Spans:
    """Return `spans` without the unwind tables that only unused functions need.

    `elf` has to follow the format rules.
    """
    tables = read_unwind_tables(elf)
    place = np.searchsorted(spans.end, tables.function, "right").clip(max=spans.end.size - 1)
    goes = (tables.function >= 0) & (spans.reason[place] == SpanReason.UNUSED)
    if not goes.any():
        return spans
    sections = [
        section
        for name in (_DESCRIPTIONS, _EXCEPTIONS)
        if (section := elf.section(name)) and section.flags & SHF_ALLOC
    ]
    canvas = Canvas.of(elf.size_bytes, SpanReason.DATA)
    canvas.paint(*_of(elf, tables, goes), SpanReason.UNWIND_TABLES)
    canvas.paint(*_of(elf, tables, ~goes), SpanReason.DATA)
    gone = canvas.reason == SpanReason.UNWIND_TABLES
    start = np.concatenate((np.zeros(1, np.int64), canvas.end[:-1]))[gone]
    # Of these, the bytes in sections that only unwinders read.
    result = Canvas(spans.end, spans.reason)
    result.paint(*may_leave(elf, sections), SpanReason.UNWIND_TABLES, over=(SpanReason.DATA,))
    stays = np.append(0, canvas.end[gone]), np.append(start, elf.size_bytes)
    result.paint(*stays, SpanReason.DATA, over=(SpanReason.UNWIND_TABLES,))
    return replace(spans, end=result.end, reason=result.reason)


def _of(elf: Elf, tables: UnwindTables, chosen: NDArray[np.bool_]) -> Intervals:
    """Return the file intervals of the chosen descriptions (bool, (n,)) and of their tables.

    An exception table ends where the next one begins, as its length is stored nowhere.
    """
    section = elf.section(_EXCEPTIONS)
    end = section.end if section else elf.size_bytes
    begins = distinct(tables.exceptions[tables.exceptions >= 0], np.array([end], np.int64))
    exceptions = tables.exceptions[chosen & (tables.exceptions >= 0)]
    next_one = begins[np.searchsorted(begins, exceptions, "right").clip(max=begins.size - 1)]
    return joined(
        np.concatenate((tables.start[chosen], tables.common_start[chosen], exceptions)),
        np.minimum(
            np.concatenate((tables.end[chosen], tables.common_end[chosen], next_one)),
            elf.size_bytes,
        ),
    )
