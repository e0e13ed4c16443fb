"""The layout of a file from which whole pages were removed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import (
    HEADER,
    PAGE_BYTES,
    PROGRAM_HEADER,
    PT_LOAD,
    SECTION_HEADER,
)
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.spans import SpanReason, Spans

# Each hole takes up to two program headers. glibc keeps a library's load commands, of 56 bytes
# each, on the stack of the thread that opens it.
MOST_HOLES = 2_000
# After all segments bytes only need their section's alignment.
_UNMAPPED_ALIGNMENT = 64


@dataclass(frozen=True, eq=False)
class CompactLayout:
    """The kept runs of bytes of a compacted file: int64 arrays of shape (n,), by source offset.

    Run i is [start[i], end[i]) of the source and begins at `destination[i]`. `table` is the run
    with the new program header table, or -1 if the table stays in place. `zeros` are the parts of
    holes, as (start, end) in the source, that held data of a library that is not initialized: they
    read as zeros, except for the table's pages.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    destination: NDArray[np.int64]
    table: int
    holes: int
    zeros: list[tuple[int, int]]

    @property
    def size_bytes(self) -> int:
        """The length of the runs in the destination, without appended bytes."""
        return int((self.destination + self.end - self.start).max())

    def translate(self, offset: int) -> int:
        """Return the new offset of a source byte, or of the next kept byte if it was removed."""
        run = min(int(np.searchsorted(self.end, offset, "right")), self.end.size - 1)
        inside = min(max(offset - int(self.start[run]), 0), int(self.end[run] - self.start[run]))
        return int(self.destination[run]) + inside

    def pieces(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the kept parts of [start, end) of the source; neighbours are joined."""
        first = int(np.searchsorted(self.end, start, "right"))
        last = int(np.searchsorted(self.start, end))
        kept: list[tuple[int, int]] = []
        for run in range(first, last):
            low, high = max(start, int(self.start[run])), min(end, int(self.end[run]))
            if kept and kept[-1][1] == low and run != self.table and run - 1 != self.table:
                kept[-1] = (kept[-1][0], high)
            else:
                kept.append((low, high))
        return kept


def plan_layout(elf: Elf, spans: Spans, minimum_hole_bytes: int) -> CompactLayout:
    """Decide which pages are removed and where the others go; offsets stay congruent to addresses.

    Segments lose at most the 2,000 largest runs of at least `minimum_hole_bytes`. The first run
    with room for the new program header table keeps the pages for it. There the table has an
    address within the library, and the matching offset.
    """
    mapped = _mapped_pages(elf)
    first, count = chosen_holes(elf, spans, minimum_hole_bytes)
    remaining = mapped.copy()
    for low, pages in zip(first.tolist(), count.tolist(), strict=True):
        remaining[low : low + pages] = False
    place = _place_of_table(elf, first, count)
    table_start = table_end = -1
    if place is not None:
        table_start, table_end = place
        remaining[table_start // PAGE_BYTES : table_end // PAGE_BYTES] = True
    runs = [
        (low * PAGE_BYTES, (low + pages) * PAGE_BYTES, PAGE_BYTES)
        for low, pages in zip(*(part.tolist() for part in _runs(remaining)), strict=True)
    ]
    runs = [part for run in runs for part in _cut(run, table_start, table_end)]
    runs += _unmapped_runs(elf, spans, mapped)
    zeros = _zeros(elf, spans, mapped & ~remaining)
    return _place(sorted(runs), elf.size_bytes, table_start, first.size, zeros)


def chosen_holes(
    elf: Elf, spans: Spans, minimum_hole_bytes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first page and length in pages of each run of pages removed from a segment."""
    first, count = _runs(_mapped_pages(elf) & ~_needed_pages(elf, spans))
    keep = count * PAGE_BYTES >= max(minimum_hole_bytes, PAGE_BYTES)
    return _with_room_for_table(elf, first[keep], count[keep])


def _zeros(elf: Elf, spans: Spans, gone: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return each run of removed pages, beginning at its first page with start-up data."""
    data = pages_of(spans, spans.reason == SpanReason.START_UP_DATA)
    zeros = []
    for low, pages in zip(*(part.tolist() for part in _runs(gone)), strict=True):
        if data[low : low + pages].any():
            first = low + int(data[low : low + pages].argmax())
            zeros.append((first * PAGE_BYTES, (low + pages) * PAGE_BYTES))
    return zeros


def _place(
    runs: list[tuple[int, int, int]],
    size_bytes: int,
    table_start: int,
    holes: int,
    zeros: list[tuple[int, int]],
) -> CompactLayout:
    starts = np.array([run[0] for run in runs], np.int64)
    destination, cursor = np.zeros_like(starts), 0
    # The table comes last: tools read the sections around its address as one part of the file.
    for index in np.argsort(starts == table_start, kind="stable").tolist():
        start, end, alignment = runs[index]
        cursor += (start - cursor) % alignment
        destination[index] = cursor
        cursor += min(end, size_bytes) - start
    return CompactLayout(
        starts,
        np.minimum(np.array([run[1] for run in runs], np.int64), size_bytes),
        destination,
        int(np.searchsorted(starts, table_start)) if table_start >= 0 else -1,
        holes,
        zeros,
    )


def _cut(run: tuple[int, int, int], start: int, end: int) -> list[tuple[int, int, int]]:
    """Cut a run so that [start, end) is a separate run."""
    low, high, alignment = run
    if not low <= start < high:
        return [run]
    parts = [(low, start), (start, end), (end, high)]
    return [(a, b, alignment) for a, b in parts if b > a]


def _needed_pages(elf: Elf, spans: Spans) -> NDArray[np.bool_]:
    """Return which pages of the file hold a kept byte."""
    needed = pages_of(spans, spans.kept)
    needed[0] = True
    # Keep the first and last page: nothing else may be mapped there, as removed pages may be
    # restored.
    for load in (elf.loads[0], elf.loads[-1]):
        if load.file_bytes:
            needed[
                load.offset // PAGE_BYTES if load is elf.loads[0] else (load.end - 1) // PAGE_BYTES
            ] = True
    for load in elf.loads:
        # Memory past a segment's file bytes (.bss) continues from its last page.
        if load.memory_bytes > load.file_bytes > 0:
            needed[(load.end - 1) // PAGE_BYTES] = True
    return needed


def pages_of(spans: Spans, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which pages of the file hold a byte of the chosen spans."""
    change = np.zeros(-(-spans.size_bytes // PAGE_BYTES) + 1, np.int64)
    np.add.at(change, spans.start[chosen] // PAGE_BYTES, 1)
    np.add.at(change, (spans.end[chosen] - 1) // PAGE_BYTES + 1, -1)
    pages: NDArray[np.bool_] = np.cumsum(change[:-1]) > 0
    return pages


def _mapped_pages(elf: Elf) -> NDArray[np.bool_]:
    mapped = np.zeros(-(-elf.size_bytes // PAGE_BYTES), bool)
    mapped[0] = True
    for load in elf.loads:
        if load.file_bytes:
            mapped[load.offset // PAGE_BYTES : -(-load.end // PAGE_BYTES)] = True
    return mapped


def _runs(marks: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first index and length of every run of true marks."""
    edges = np.flatnonzero(np.diff(marks.astype(np.int8), prepend=0, append=0))
    return edges[::2], edges[1::2] - edges[::2]


def _unmapped_runs(elf: Elf, spans: Spans, mapped: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Return the kept bytes outside mapped pages, except those that are written after the runs.

    These are the section headers, which are rewritten, and the trailer.
    """
    table = elf.section_header_offset
    table_end = table + len(elf.sections) * SECTION_HEADER.size
    kept, trailer = spans.kept, start_of_trailer(elf)
    runs: list[tuple[int, int, int]] = []
    for low, pages in zip(*(part.tolist() for part in _runs(~mapped)), strict=True):
        start, end = low * PAGE_BYTES, (low + pages) * PAGE_BYTES
        alignment = _UNMAPPED_ALIGNMENT if low + pages == mapped.size else PAGE_BYTES
        inside = np.flatnonzero(kept & (spans.end > start) & (spans.start < end))
        for index in inside.tolist():
            a, b = max(start, int(spans.start[index])), min(end, trailer, int(spans.end[index]))
            parts = [(a, min(b, table)), (max(a, table_end), b)] if table else [(a, b)]
            runs += [(x, y, alignment) for x, y in parts if y > x]
    return runs


def start_of_trailer(elf: Elf) -> int:
    """Return the start of the appended bytes that no header covers.

    Readers find them from the file's end, as with a ZIP archive. Returns the file's length if there
    are only zeros, which are padding.
    """
    ends = [HEADER.size, elf.program_header_offset + len(elf.segments) * PROGRAM_HEADER.size]
    ends.append(elf.section_header_offset + len(elf.sections) * SECTION_HEADER.size)
    ends += [segment.end for segment in elf.segments]
    ends += [section.end for section in elf.sections]
    start = min(max(ends), elf.size_bytes)
    return start if elf.data[start:].any() else elf.size_bytes


def new_header_count(elf: Elf, holes: int) -> int:
    """Return the largest number of program headers for a file with so many holes."""
    # Each hole splits a segment and may have zeros; add the table and PT_PHDR.
    return len(elf.segments) + 2 * holes + 2


def _table_pages(elf: Elf, holes: int) -> int:
    return -(-new_header_count(elf, holes) * PROGRAM_HEADER.size // PAGE_BYTES)


def _with_room_for_table(
    elf: Elf, first: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Drop the smallest holes until the program header table fits into the largest one."""
    chosen = np.argsort(-count, kind="stable")[:MOST_HOLES]
    inside = [_segment_of(elf, int(first[i]), int(count[i])) is not None for i in chosen]
    while chosen.size and _table_pages(elf, chosen.size) > max(
        (int(count[i]) for i, ok in zip(chosen, inside, strict=False) if ok), default=0
    ):
        chosen = chosen[: chosen.size // 2]
    chosen = np.sort(chosen)
    return first[chosen], count[chosen]


def _segment_of(elf: Elf, page: int, pages: int) -> int | None:
    """Return the index of the only PT_LOAD that maps all these pages, or None."""
    start, end = page * PAGE_BYTES, (page + pages) * PAGE_BYTES
    for number, segment in enumerate(elf.segments):
        if segment.type == PT_LOAD and segment.offset <= start and end <= segment.end:
            return number
    return None


def _place_of_table(
    elf: Elf, first: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Return start and end of the new table's pages, or None without holes."""
    pages = _table_pages(elf, first.size)
    for low, have in zip(first.tolist(), count.tolist(), strict=True):
        if have >= pages and _segment_of(elf, low, have) is not None:
            return low * PAGE_BYTES, (low + pages) * PAGE_BYTES
    return None
