"""Write a library without the removed spans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import HEADER, PAGE_BYTES, SECTION_HEADER
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.layout import plan_layout, start_of_trailer
from trimtab.binaries.rewriting.program_headers import split_segments
from trimtab.binaries.rewriting.regions import Patch, apply_patches
from trimtab.binaries.rewriting.section_headers import split_sections, without_symbols
from trimtab.binaries.rewriting.spans import REMOVED_CODE, Spans
from trimtab.errors import TrimtabError, UserError
from trimtab.files import atomic_write

Mode = Literal["zero", "punch", "compact"]

INT3 = 0xCC
# Each hole costs two of a process's 65,530 memory mappings, and about 5 us of each start. At 16, 32
# and 64 KiB nginx takes 1.19, 1.11 and 1.10 of the original's processor time to start, and is 9.2,
# 9.8 and 10.2 MB; pandas takes 1.06, 1.02 and 1.01, and is 91, 96 and 103 MB. PyTorch's large
# libraries for CUDA 13, 3,764 MB, keep 716 MB at 16 KiB and 748 at 32.
MINIMUM_HOLE_BYTES = 32 * 1024
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class RewriteResult:
    """The sizes of a rewritten file: kept + removed = before, kept + overhead = after (bytes).

    Overhead is filled bytes on kept pages, new headers and alignment. `holes` counts the runs of
    pages that were removed or are not allocated.
    """

    mode: Mode
    size_before_bytes: int
    size_after_bytes: int
    kept_bytes: int
    removed_bytes: int
    overhead_bytes: int
    holes: int


def rewrite(
    elf: Elf,
    spans: Spans,
    mode: Mode,
    destination: Path,
    minimum_hole_bytes: int = MINIMUM_HOLE_BYTES,
    fill: int | None = None,
    patches: Sequence[Patch] = (),
) -> RewriteResult:
    """Write `elf` to `destination` without the removed `spans`; the source is only read.

    `zero` overwrites removed code with int3 and the rest with zeros, or everything with the byte
    `fill`. `punch` also leaves whole removed pages unallocated. `compact` removes them from the
    file, in runs of at least `minimum_hole_bytes`, and keeps every address. If nothing is removed,
    the file is copied. `patches`, ascending and disjoint, replace bytes of the source. Raises
    UserError if the spans are of another file or the destination is the source, OSError if the
    destination cannot be written.
    """
    spans.validate(elf.size_bytes)
    source = _Source(elf, spans, fill, patches)
    if destination.exists() and destination.samefile(elf.path):
        raise UserError(f"{destination}: the result would overwrite its source; give another path")
    permissions = elf.path.stat().st_mode & 0o777
    with atomic_write(destination, permissions) as temporary, temporary.open("wb") as file:
        if mode == "compact" and spans.removed_bytes:
            holes = _write_compact(source, file, minimum_hole_bytes)
        else:
            holes = _write_in_place(source, file, mode == "punch")
        size_after = file.seek(0, 2)
    overhead = size_after - spans.kept_bytes
    if spans.kept_bytes + spans.removed_bytes != elf.size_bytes or overhead < 0:
        raise TrimtabError(f"{destination}: kept, removed and overhead bytes do not add up")
    return RewriteResult(
        mode,
        elf.size_bytes,
        size_after,
        spans.kept_bytes,
        spans.removed_bytes,
        overhead,
        holes,
    )


@dataclass(frozen=True, eq=False)
class _Source:
    """The input of the writers: the file, its removed spans, their fill bytes, and the patches."""

    elf: Elf
    spans: Spans
    fill: int | None
    patches: Sequence[Patch]


def _write_in_place(source: _Source, file: BinaryIO, sparse: bool) -> int:
    """Write the file at its full length; return the number of holes."""
    elf, spans = source.elf, source.spans
    holes, in_hole = 0, False
    for offset, chunk in _filled(source, 0, elf.size_bytes):
        if not sparse:
            file.write(chunk.data)
            continue
        kept = _pages_with_kept_bytes(spans, offset, chunk.size)
        for page in range(kept.size):
            holes += bool(not kept[page] and not in_hole)
            in_hole = not kept[page]
            if kept[page]:
                file.seek(offset + page * PAGE_BYTES)
                file.write(chunk[page * PAGE_BYTES : (page + 1) * PAGE_BYTES].data)
    file.truncate(elf.size_bytes)
    for index, section in enumerate(without_symbols(elf, spans)):
        if section is not elf.sections[index]:
            file.seek(elf.section_header_offset + index * SECTION_HEADER.size)
            file.write(section.pack())
    return holes


def _write_compact(source: _Source, file: BinaryIO, minimum_hole_bytes: int) -> int:
    """Write the kept pages in sequence, then new headers; return the number of holes."""
    elf, spans = source.elf, source.spans
    layout = plan_layout(elf, spans, minimum_hole_bytes)
    headers = split_segments(elf, layout)
    sections = split_sections(without_symbols(elf, spans), layout)
    for run in range(layout.start.size):
        file.seek(int(layout.destination[run]))
        for _, chunk in _filled(source, int(layout.start[run]), int(layout.end[run])):
            file.write(chunk.data)
    table = elf.program_header_offset
    if layout.table >= 0:
        table = int(layout.destination[layout.table])
    file.seek(table)
    file.write(b"".join(header.pack() for header in headers))
    # Bytes of a page past the end of the source are zeros; the appended headers must not show.
    last = max(load.end for load in elf.loads)
    alignment = PAGE_BYTES if last > elf.size_bytes // PAGE_BYTES * PAGE_BYTES else 8
    behind = -(-layout.size_bytes // alignment) * alignment
    section_table = behind if sections else 0
    file.seek(behind)
    file.write(b"".join(section.pack() for section in sections))
    # Readers of a trailer search from the file's end.
    for offset in range(start_of_trailer(elf), elf.size_bytes, _CHUNK_BYTES):
        file.write(elf.read(offset, _CHUNK_BYTES).data)
    fields = list(HEADER.unpack(elf.data[: HEADER.size].tobytes()))
    fields[5], fields[6], fields[10], fields[12] = table, section_table, len(headers), len(sections)
    file.seek(0)
    file.write(HEADER.pack(*fields))
    return layout.holes


def _filled(source: _Source, start: int, end: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield [start, end) of the source in chunks, as (offset, bytes), removed bytes overwritten."""
    elf, spans, fill = source.elf, source.spans, source.fill
    for offset in range(start, end, _CHUNK_BYTES):
        length = min(_CHUNK_BYTES, end - offset)
        chunk = elf.read(offset, length)
        if chunk.size != length:
            raise TrimtabError(f"{elf.path}: it became shorter while it was read")
        apply_patches(source.patches, offset, chunk)
        first = int(np.searchsorted(spans.end, offset, "right"))
        last = int(np.searchsorted(spans.end, offset + length)) + 1
        low = np.maximum(spans.start[first:last] - offset, 0)
        high = np.minimum(spans.end[first:last] - offset, length)
        reasons, kept = spans.reason[first:last], spans.kept[first:last]
        for index in np.flatnonzero(~kept).tolist():
            byte = INT3 if reasons[index] in REMOVED_CODE else 0
            chunk[low[index] : high[index]] = byte if fill is None else fill
        yield offset, chunk


def _pages_with_kept_bytes(spans: Spans, offset: int, length: int) -> NDArray[np.bool_]:
    """Return for each page from `offset` on whether it holds a kept byte."""
    pages = -(-length // PAGE_BYTES)
    change = np.zeros(pages + 1, np.int64)
    kept = spans.kept & (spans.end > offset) & (spans.start < offset + length)
    low = np.maximum(spans.start[kept] - offset, 0) // PAGE_BYTES
    high = (np.minimum(spans.end[kept] - offset, length) - 1) // PAGE_BYTES + 1
    np.add.at(change, low, 1)
    np.add.at(change, high, -1)
    holds: NDArray[np.bool_] = np.cumsum(change[:-1]) > 0
    return holds
