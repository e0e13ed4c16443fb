"""Which bytes of a file are kept or removed, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UserError


class SpanReason(IntEnum):
    """Why a span is kept or removed; the value is its code in arrays and files."""

    DATA = 0
    USED = 1
    UNUSED = 2
    UNCOVERED = 3
    LINKAGE = 4
    WHOLE = 5
    SYMBOLS = 6
    PADDING = 7
    GPU_USED = 8
    GPU_ARCHITECTURE = 9
    GPU_UNUSED = 10
    GPU_PTX = 11
    START_UP_CODE = 12
    START_UP_DATA = 13
    SHARED_PAGE = 14
    UNREAD_DATA = 15
    UNWIND_TABLES = 16

    @property
    def text(self) -> str:
        """The reason in words."""
        return _TEXTS[self]

    @property
    def kept(self) -> bool:
        """Whether bytes with this reason stay."""
        return self not in _REMOVED


_TEXTS = {
    SpanReason.DATA: "headers and data",
    SpanReason.USED: "used function",
    SpanReason.UNUSED: "unused function",
    SpanReason.UNCOVERED: "no function covers it",
    SpanReason.LINKAGE: "start-up and linkage code",
    SpanReason.WHOLE: "code that cannot be told apart",
    SpanReason.SYMBOLS: "symbols",
    SpanReason.PADDING: "padding",
    SpanReason.GPU_USED: "GPU code that is kept",
    SpanReason.GPU_ARCHITECTURE: "GPU code for other architectures",
    SpanReason.GPU_UNUSED: "GPU code that was not used",
    SpanReason.GPU_PTX: "PTX that no GPU needs",
    SpanReason.START_UP_CODE: "code of a library that is not started",
    SpanReason.START_UP_DATA: "data of a library that is not started",
    SpanReason.SHARED_PAGE: "unused, on a page that stays",
    SpanReason.UNREAD_DATA: "data that was not read",
    SpanReason.UNWIND_TABLES: "unwind tables of unused functions",
}
# Read, never executed.
GPU_REMOVED = (SpanReason.GPU_ARCHITECTURE, SpanReason.GPU_UNUSED, SpanReason.GPU_PTX)
# Executed: missing code becomes traps and holes.
REMOVED_CODE = (SpanReason.UNUSED, SpanReason.START_UP_CODE)
# Constants that are restored, page by page, when they are read.
REMOVED_DATA = (SpanReason.UNREAD_DATA, SpanReason.UNWIND_TABLES)
_REMOVED = (
    *REMOVED_CODE,
    SpanReason.SYMBOLS,
    SpanReason.PADDING,
    *GPU_REMOVED,
    SpanReason.START_UP_DATA,
    *REMOVED_DATA,
)
_KEPT = np.array([reason.kept for reason in SpanReason])


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans that tile a file of `end[-1]` bytes: file offsets, int64, and reason codes, uint8.

    All arrays have shape (n,); span i is [start[i], end[i]). Kept GPU code is at its new place, at
    the front of its region. `build_id` identifies the library; `note` says why all code is kept, if
    it is.
    """

    end: NDArray[np.int64]
    reason: NDArray[np.uint8]
    build_id: str | None = None
    note: str = ""

    @property
    def start(self) -> NDArray[np.int64]:
        """The first byte of each span."""
        return np.concatenate((np.zeros(1, np.int64), self.end[:-1]))

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each span stays."""
        kept: NDArray[np.bool_] = _KEPT[self.reason]
        return kept

    @property
    def size_bytes(self) -> int:
        """The file's size."""
        return int(self.end[-1])

    @property
    def kept_bytes(self) -> int:
        """The number of kept bytes."""
        return int((self.end - self.start)[self.kept].sum())

    @property
    def removed_bytes(self) -> int:
        """The number of removed bytes; kept and removed add up to the size."""
        return int((self.end - self.start)[~self.kept].sum())

    def bytes_of(self, reason: SpanReason) -> int:
        """Return how many bytes have this reason."""
        return int((self.end - self.start)[self.reason == reason].sum())

    def validate(self, size_bytes: int) -> None:
        """Raise UserError unless these spans exactly tile a file of `size_bytes`."""
        if not self.end.size or self.end.shape != self.reason.shape:
            raise UserError("spans: expected as many reasons as ends, and at least one")
        if np.any(np.diff(self.end) <= 0) or self.end[0] <= 0 or self.end[-1] != size_bytes:
            raise UserError(f"spans: they do not tile the file's {size_bytes} bytes exactly")
        if int(self.reason.max()) >= len(SpanReason):
            raise UserError("spans: unknown reason code; they come from another version")


@dataclass(eq=False)
class Canvas:
    """A file's bytes, on which reasons are painted, later ones over earlier ones."""

    end: NDArray[np.int64]
    reason: NDArray[np.uint8]

    @classmethod
    def of(cls, size_bytes: int, reason: SpanReason) -> "Canvas":
        """Return a file with one reason."""
        return cls(np.array([size_bytes], np.int64), np.array([reason], np.uint8))

    def paint(
        self,
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        reason: NDArray[np.uint8] | SpanReason,
        over: Sequence[SpanReason] = tuple(SpanReason),
    ) -> None:
        """Paint disjoint, sorted intervals [start, end) with reasons.

        Bytes whose reason is not in `over` keep it.
        """
        chosen = np.flatnonzero(end > start)
        if not chosen.size:
            return
        start, end = start[chosen], end[chosen]
        codes = np.full(start.shape, reason) if isinstance(reason, SpanReason) else reason[chosen]
        edges = distinct(self.end, start, end)
        edges = edges[edges > 0]
        first = np.concatenate((np.zeros(1, np.int64), edges[:-1]))
        below = self.reason[np.searchsorted(self.end, first, "right")]
        holder = np.searchsorted(start, first, "right") - 1
        covered = (holder >= 0) & (first < end[holder]) & np.isin(below, list(over))
        self.reason = np.where(covered, codes[holder], below).astype(np.uint8)
        self.end = edges
        self.merge()

    def merge(self) -> None:
        """Join neighbours with the same reason."""
        last_of_run = np.append(self.reason[1:] != self.reason[:-1], True)
        self.end, self.reason = self.end[last_of_run], self.reason[last_of_run]


def distinct(*runs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the values of all runs, each once, ascending.

    It is fast for nearly sorted runs: numpy.unique would hash every value first.
    """
    values: NDArray[np.int64] = np.sort(np.concatenate(runs), kind="stable")
    last_of_run = np.append(values[1:] != values[:-1], True)
    return np.compress(last_of_run[: values.size], values)


def joined(
    start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the union of the intervals [start, end): disjoint and ascending."""
    chosen = np.flatnonzero(end > start)
    order = chosen[np.argsort(start[chosen], kind="stable")]
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.append(True, start[1:] > reach[:-1])[: start.size]
    return start[first], reach[np.append(first[1:], True)[: start.size]]
