"""The removed pages of a library, by address, for the program that misses them.

The rows are those of `native/fallback/sidecar.h`.
"""

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PAGE_BYTES
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.layout import chosen_holes, pages_of
from trimtab.binaries.rewriting.spans import GPU_REMOVED, REMOVED_CODE, SpanReason, Spans
from trimtab.records.library_spans import GpuCodeSpans, LibrarySpans

# The kinds of removed pages in sidecar.h; data has 0.
_CODE, _GPU_CODE = 1, 2
_HOLE = np.dtype([("address", "<u4"), ("size", "<u4")])
_PIECE = np.dtype([("address", "<u4"), ("size", "<u4"), ("offset", "<u4")])
_FUNCTION = np.dtype([("address", "<u4"), ("name", "<u4")])
_KERNEL = np.dtype([("address", "<u4"), ("size", "<u4"), ("original", "<u4"), ("name", "<u4")])


@dataclass(frozen=True, eq=False)
class RemovedPages:
    """The removed pages of a library and their content: structured arrays, by address.

    `holes` are runs of whole pages (size + 1 of code, + 2 of GPU code), `pieces` the bytes of the
    original that belong in them. `functions` are the functions with a byte in a hole, with the file
    offsets of their names. `kernels` is GPU code with its original address and the place of a
    kernel's name in `text`.
    """

    holes: NDArray[np.void]
    pieces: NDArray[np.void]
    functions: NDArray[np.void]
    kernels: NDArray[np.void]
    text: bytes

    @property
    def gpu_code(self) -> bool:
        """Whether any page holds GPU code."""
        return bool(np.any(self.holes["size"] & _GPU_CODE))

    def source_bytes(self, size_bytes: int, unit_bytes: int) -> NDArray[np.bool_]:
        """Return which units of a file of `size_bytes` hold the pieces and the names."""
        wanted = np.zeros(-(-size_bytes // unit_bytes), bool)
        for start, length in zip(
            self.pieces["offset"].tolist(), self.pieces["size"].tolist(), strict=True
        ):
            wanted[start // unit_bytes : (start + length - 1) // unit_bytes + 1] = True
        names = self.functions["name"][self.functions["name"] > 0].astype(np.int64)
        wanted[names // unit_bytes] = True
        wanted[np.minimum(names // unit_bytes + 1, wanted.size - 1)] |= (
            names % unit_bytes > unit_bytes - 512
        )
        return wanted


def removed_pages(elf: Elf, spans: Spans, document: LibrarySpans) -> RemovedPages:
    """Return the removed pages of the library `elf`, by its spans and its GPU code."""
    low, high = _removed_runs(elf, spans, document.minimum_hole_bytes)
    zeros = _reads_as_zeros(spans, low, high)
    low, high, kind = _of_one_kind(elf, spans, low[~zeros], high[~zeros])
    holes = np.zeros(low.size, _HOLE)
    holes["address"], holes["size"] = elf.addresses_of(low), high - low + kind
    code, high = kind & _CODE != 0, np.minimum(high, elf.size_bytes)
    names = _Text()
    rows = np.array(_pieces(low, high, _moves(document.gpu_code)), np.int64).reshape(-1, 3)
    pieces = np.zeros(len(rows), _PIECE)
    pieces["address"], pieces["size"] = elf.addresses_of(rows[:, 0]), rows[:, 1]
    pieces["offset"] = rows[:, 2]
    return RemovedPages(
        holes=holes[np.argsort(holes["address"])],
        pieces=pieces[np.argsort(pieces["address"])],
        functions=_functions(elf, low[code], high[code]),
        kernels=_kernels(elf, document.gpu_code, names),
        text=names.text,
    )


def _removed_runs(
    elf: Elf, spans: Spans, minimum_hole_bytes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and end of the runs of pages that were removed or hold overwritten code."""
    first, count = chosen_holes(elf, spans, minimum_hole_bytes)
    code = spans.reason == SpanReason.UNUSED
    first = np.concatenate((first, spans.start[code] // PAGE_BYTES))
    last = np.concatenate((first[: count.size] + count, -(-spans.end[code] // PAGE_BYTES)))
    pages = np.zeros(-(-elf.size_bytes // PAGE_BYTES) + 1, np.int64)
    np.add.at(pages, first, 1)
    np.add.at(pages, last, -1)
    edges = np.flatnonzero(np.diff(np.cumsum(pages) > 0, prepend=False))
    return edges[::2] * PAGE_BYTES, edges[1::2] * PAGE_BYTES


class _Text:
    """Names with a terminating zero; the first is empty."""

    def __init__(self) -> None:
        self.text = b"\0"
        self._parts: dict[str, int] = {"": 0}

    def place(self, name: str) -> int:
        if name not in self._parts:
            self._parts[name] = len(self.text)
            self.text += name.encode() + b"\0"
        return self._parts[name]


def _reads_as_zeros(
    spans: Spans, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which holes lie in the data of a library that is not initialized."""
    zeros = spans.reason == SpanReason.START_UP_DATA
    first = np.searchsorted(spans.end[zeros], low, "right")
    starts = np.append(spans.start[zeros], spans.size_bytes)
    inside: NDArray[np.bool_] = starts[first] < high
    return inside


def _of_one_kind(
    elf: Elf, spans: Spans, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the runs of pages [low, high), cut where the kind changes, and the kind of each.

    A page has the kind code, GPU code, or both; data has neither. A run lies in one segment.
    """
    kinds = np.zeros(-(-spans.size_bytes // PAGE_BYTES), np.int64)
    for reasons, kind in ((REMOVED_CODE, _CODE), (GPU_REMOVED, _GPU_CODE)):
        chosen = np.isin(spans.reason, reasons)
        kinds |= kind * pages_of(spans, chosen)
    segments = [load.offset // PAGE_BYTES for load in elf.loads if load.file_bytes]
    cuts = np.concatenate((np.flatnonzero(np.diff(kinds)) + 1, np.array(segments, np.int64)))
    cuts = np.unique(cuts) * PAGE_BYTES
    run = np.searchsorted(low, cuts, "right") - 1
    inside = (run >= 0) & (cuts > low[run]) & (cuts < high[run]) if low.size else cuts < 0
    low = np.sort(np.concatenate((low, cuts[inside])))
    high = np.sort(np.concatenate((high, cuts[inside])))
    return low, high, kinds[low // PAGE_BYTES]


def _moves(gpu: GpuCodeSpans | None) -> list[tuple[int, int, int]]:
    """Return the elements of GPU code that moved in their regions: [offset, end, source]."""
    if gpu is None:
        return []
    length = {start: end - start for start, end, _ in gpu.elements}
    return sorted((new, new + length[old], old) for old, new in gpu.placed if new != old)


def _pieces(
    low: NDArray[np.int64], high: NDArray[np.int64], moves: list[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """Return [offset, length, offset in the original) of the content of each hole.

    It is the original's content, except where an element of GPU code moved to.
    """
    rows = []
    ends = np.array([end for _, end, _ in moves], np.int64)
    for start, end in zip(low.tolist(), high.tolist(), strict=True):
        at = start
        first = int(np.searchsorted(ends, start, "right"))
        for offset, stop, source in islice(moves, first, None):
            if offset >= end:
                break
            begin, stop = max(offset, start), min(stop, end)
            if begin > at:
                rows.append((at, begin - at, at))
            rows.append((begin, stop - begin, source + begin - offset))
            at = stop
        if end > at:
            rows.append((at, end - at, at))
    return rows


def _functions(elf: Elf, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.void]:
    """Return the functions with a byte in one of the intervals [low, high)."""
    functions = read_functions(elf)
    address = functions.start.astype(np.int64)
    start = elf.offsets_of(address)
    end = start + functions.size.astype(np.int64)
    hole = np.searchsorted(high, start, "right")
    inside = (hole < high.size) & (start >= 0)
    inside[inside] = low[hole[inside]] < end[inside]
    rows = np.zeros(int(inside.sum()), _FUNCTION)
    rows["address"] = address[inside]
    rows["name"] = function_names(elf).offsets_of(address[inside])
    return rows


def _kernels(elf: Elf, gpu: GpuCodeSpans | None, text: _Text) -> NDArray[np.void]:
    if gpu is None:
        return np.zeros(0, _KERNEL)
    placed = dict(gpu.placed)
    removed = [
        (
            placed.get(start, start),
            end - start,
            start,
            text.place(gpu.unused_kernels.get(start, "")),
        )
        for start, end, reason in gpu.elements
        if not gpu.reasons[reason].kept and (start in placed or start in gpu.unused_kernels)
    ]
    table = np.array(sorted(removed), np.int64).reshape(-1, 4)
    rows = np.zeros(len(table), _KERNEL)
    rows["address"], rows["size"] = elf.addresses_of(table[:, 0]), table[:, 1]
    rows["original"], rows["name"] = elf.addresses_of(table[:, 2]), table[:, 3]
    return rows[np.argsort(rows["address"])]
