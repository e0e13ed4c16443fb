"""Remove only whole pages: unused bytes on a kept page stay.

Filling them with traps would save nothing on disk or in memory, and kept bytes need no restoring.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PAGE_BYTES
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.layout import chosen_holes
from trimtab.binaries.rewriting.spans import (
    REMOVED_DATA,
    Canvas,
    SpanReason,
    Spans,
    distinct,
)

_KEPT_WHERE_A_PAGE_STAYS = (SpanReason.UNUSED, SpanReason.GPU_UNUSED, *REMOVED_DATA)


def whole_pages(elf: Elf, spans: Spans, minimum_hole_bytes: int, traps: bool = False) -> Spans:
    """Return `spans` in which unused code and data are removed only with their whole page.

    Pages are removed in runs of at least `minimum_hole_bytes`, as in `plan_layout`. If pages get
    `traps` instead, an unused function that crosses into them is removed from its beginning: an
    instruction across the boundary would run with traps as its end.
    """
    first, count = chosen_holes(elf, spans, minimum_hole_bytes)
    low, high = first * PAGE_BYTES, (first + count) * PAGE_BYTES
    begin = _beginnings(elf, low) if traps else low[:0]
    edges = distinct(spans.end, low, high, begin)
    edges = edges[(edges > 0) & (edges <= spans.size_bytes)]
    start = np.concatenate((np.zeros(1, np.int64), edges[:-1]))
    reason = spans.reason[np.searchsorted(spans.end, start, "right")]
    hole = np.searchsorted(low, start, "right") - 1
    goes = (hole >= 0) & (start < high[hole]) if low.size else np.zeros(start.shape, bool)
    stays = np.isin(reason, _KEPT_WHERE_A_PAGE_STAYS) & ~goes
    stays &= (reason != SpanReason.UNUSED) | ~np.isin(start, begin)
    canvas = Canvas(edges, np.where(stays, SpanReason.SHARED_PAGE, reason).astype(np.uint8))
    canvas.merge()
    return replace(spans, end=canvas.end, reason=canvas.reason)


def _beginnings(elf: Elf, low: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the starts of the functions that cross one of the file offsets `low`, ascending."""
    functions = read_functions(elf)
    start = elf.offsets_of(functions.start.astype(np.int64))
    end = start + functions.size.astype(np.int64)
    following = np.searchsorted(low, start, "right")
    over = (start >= 0) & (following < low.size)
    over[over] = low[following[over]] < end[over]
    return start[over]
