"""The unwind tables of each function: its description, and its exception table.

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

    `function` are file offsets of the functions' first bytes, -1 outside the file. Description i is
    [start[i], end[i]) of the file, its common part (CIE) [common_start[i], common_end[i]).
    `exceptions` is the file offset of its exception table, -1 without one.
    """

    function: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    common_start: NDArray[np.int64]
    common_end: NDArray[np.int64]
    exceptions: NDArray[np.int64]


def read_unwind_tables(elf: Elf) -> UnwindTables:
    """Return the descriptions in `.eh_frame_hdr`, without damaged ones."""
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
        # After address and size of the function: a length of one byte, and the pointer.
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
