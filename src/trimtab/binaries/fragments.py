"""Functions that were entered past their first instruction.

Compilers split a function into a hot and a cold part with an FDE each, and the hot part jumps
into the middle of the cold one; hand-written assembly jumps between functions too. A breakpoint
on the first instruction misses such an entry, so that what a used function jumps into counts as
used. A cold part is told by its FDE: its frame is already set up at its first instruction.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf import Elf
from trimtab.binaries.functions import Functions

_CHUNK_BYTES = 1 << 22
_JMP_REL32, _TWO_BYTE, _JCC_REL32, _HIGH_NIBBLE = 0xE9, 0x0F, 0x80, 0xF0
# Bytes are not decoded, so that some "jumps" are other instructions' operands. Assembly jumps
# within its object file; a jump farther than this counts only into a cold part.
_NEAR_BYTES = 1 << 16


def with_fragments(elf: Elf, functions: Functions, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return `used` (bool, shape (n,)) and all that a used function may jump into the middle of.

    Every byte of a used function is taken as the possible first one of a direct jump (`jmp` and
    `jcc` with a 32-bit displacement): code that is not decoded right can only add functions.
    """
    result = used.copy()
    start = functions.start.astype(np.int64)
    end = start + functions.size.astype(np.int64)
    # Functions beside a cold part are in the section of rarely executed code as well.
    cold = functions.is_fragment.copy()
    cold[1:] |= functions.is_fragment[:-1]
    cold[:-1] |= functions.is_fragment[1:]
    frontier = np.flatnonzero(used)
    while frontier.size:
        sources, targets = _jumps(elf, start, end, frontier)
        holder = np.searchsorted(start, targets, "right") - 1
        past_start = (holder >= 0) & (targets < end[holder]) & (targets != start[holder])
        near = np.abs(targets - sources) < _NEAR_BYTES
        frontier = np.unique(holder[past_start & (near | cold[holder])])
        frontier = frontier[~result[frontier]]
        result[frontier] = True
    return result


def _jumps(
    elf: Elf, start: NDArray[np.int64], end: NDArray[np.int64], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sources and targets (addresses) of the possible jumps within chosen functions."""
    offset = elf.offsets_of(start[chosen])
    order = np.argsort(offset, kind="stable")
    low, bias = offset[order], (start[chosen] - offset)[order]
    high = low + (end - start)[chosen][order]
    sources, targets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first in range(0, elf.size_bytes, _CHUNK_BYTES):
        # Functions that overlap the chunk: both bounds ascend.
        here = slice(
            int(np.searchsorted(high, first, "right")),
            int(np.searchsorted(low, first + _CHUNK_BYTES)),
        )
        if here.start >= here.stop:
            continue
        code = elf.read(first, _CHUNK_BYTES + 8)
        field = _displacements(code)
        field = field[field < _CHUNK_BYTES + 2]
        holder = here.start + np.searchsorted(low[here], field + first, "right") - 1
        inside = (holder >= 0) & (field + first < high[holder])
        field, holder = field[inside], holder[inside]
        values = np.ndarray((code.size - 3,), "<i4", code, strides=(1,))[field].astype(np.int64)
        sources.append(field + first + bias[holder])
        targets.append(sources[-1] + 4 + values)
    return np.concatenate(sources), np.concatenate(targets)


def _displacements(code: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return where in `code` the 4-byte displacements of possible jumps are."""
    jmp = np.flatnonzero(code == _JMP_REL32) + 1
    two = np.flatnonzero(code[:-1] == _TWO_BYTE)
    jcc = two[code[two + 1] & _HIGH_NIBBLE == _JCC_REL32] + 2
    found = np.concatenate((jmp, jcc))
    return found[found <= code.size - 4]
