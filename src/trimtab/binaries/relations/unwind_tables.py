"""What the unwind tables say of each function: its description, and where its handlers are listed.

Formats: LSB core 5.0, chapter 10.6, and for exception tables (LSDAs, in `.gcc_except_table`) the
Itanium C++ ABI's exception handling tables.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import (
    descriptions_of,
    gathered,
    is_direct,
    pointer_bytes,
    pointers_at,
    read_search_table,
)
from trimtab.binaries.elf.reader import Elf

_LENGTH_BYTES = 4


@dataclass(frozen=True, eq=False)
class UnwindTables:
    """Descriptions of functions, by the search table: int64 arrays of shape (n,).

    `function` are file offsets of the functions' first bytes, -1 where the file does not hold it.
    Description i is [start[i], end[i]) of the file; what it has in common with others (its CIE) is
    [common_start[i], common_end[i]). `exceptions` is the file offset of its exception table, -1
    without one.
    """

    function: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    common_start: NDArray[np.int64]
    common_end: NDArray[np.int64]
    exceptions: NDArray[np.int64]


def read_unwind_tables(elf: Elf) -> UnwindTables:
    """Return the descriptions that `.eh_frame_hdr` lists, but for those that are damaged."""
    table, _ = read_search_table(elf)
    found = descriptions_of(elf, table)
    end = found.entry + _LENGTH_BYTES + found.length
    common_end = found.cie + _LENGTH_BYTES + gathered(elf, found.cie, "<u4")
    exceptions = np.full(found.entry.shape, -1, np.int64)
    kinds = np.unique(np.column_stack((found.encoding, found.exceptions)), axis=0)
    for code, encoding in kinds.tolist():
        if not (is_direct(code) and is_direct(encoding)):
            continue
        chosen = np.flatnonzero((found.encoding == code) & (found.exceptions == encoding))
        # Behind address and size of the function: a length of one byte, and the pointer.
        field, width = found.entry[chosen] + 8 + 2 * pointer_bytes(code), pointer_bytes(encoding)
        inside = field + 1 + width <= end[chosen]
        chosen, field = chosen[inside], field[inside]
        long_enough = (gathered(elf, field, "u1") >= width) & (gathered(elf, field, "u1") < 0x80)
        chosen, field = chosen[long_enough], field[long_enough] + 1
        there = gathered(elf, field, f"<u{width}") != 0
        chosen, field = chosen[there], field[there]
        exceptions[chosen] = elf.offsets_of(pointers_at(elf, field, encoding))
    return UnwindTables(
        function=elf.offsets_of(table[found.row, 0]),
        start=found.entry,
        end=end,
        common_start=found.cie,
        common_end=common_end,
        exceptions=exceptions,
    )
