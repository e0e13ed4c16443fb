"""What used functions call or jump to, though it did not run while they were watched.

A run takes one of several ways: which one may hang on the length of the environment, on the
alignment of a buffer, or on an error that did not occur. Whatever a used function calls or jumps
to directly is therefore kept with it, and so on from there. That is a small part of a library:
most calls in C++ go through tables of pointers.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.stubs import stub_targets

_CHUNK_BYTES = 1 << 20
_CALL_REL32, _JMP_REL32, _JMP_REL8 = 0xE8, 0xE9, 0xEB
_TWO_BYTE, _JCC_REL32, _HIGH_NIBBLE = 0x0F, 0x80, 0xF0


def with_reachable(elf: Elf, functions: Functions, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return `used` (bool, shape (n,)) and every function that these call or jump to.

    Code is not decoded: every byte of a used function is taken as the possible opcode of a call or
    jump with a displacement, and counts when that leads to a function's first byte, or to a
    linkage stub for one. What is misread can only add functions.
    """
    result = used.copy()
    start = functions.start.astype(np.int64)
    size = functions.size.astype(np.int64)
    offset = elf.offsets_of(start)
    stubs = stub_targets(elf)
    frontier = np.flatnonzero(used)
    while frontier.size:
        reached = np.zeros_like(result)
        ends = np.cumsum(size[frontier])
        cuts = np.searchsorted(ends, np.arange(_CHUNK_BYTES, ends[-1], _CHUNK_BYTES))
        for part in np.split(frontier, np.unique(cuts)):
            reached[_targets(elf, start, size, offset, stubs, part)] = True
        frontier = np.flatnonzero(reached & ~result)
        result |= reached
    return result


def _targets(
    elf: Elf,
    start: NDArray[np.int64],
    size: NDArray[np.int64],
    offset: NDArray[np.int64],
    stubs: tuple[NDArray[np.int64], NDArray[np.int64]],
    chosen: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the indices of the functions at whose start a call or jump of `chosen` leads."""
    # Every byte but a function's first may be where a displacement begins.
    places = size[chosen] - 1
    first = np.cumsum(places) - places
    within = np.arange(places.sum()) - np.repeat(first, places) + 1
    at = np.repeat(offset[chosen], places) + within
    address = np.repeat(start[chosen], places) + within
    fits = np.repeat(size[chosen], places) - within >= 4
    opcode = elf.data[at - 1]
    jcc = (opcode & _HIGH_NIBBLE == _JCC_REL32) & (elf.data[np.maximum(at - 2, 0)] == _TWO_BYTE)
    long = fits & ((opcode == _CALL_REL32) | (opcode == _JMP_REL32) | jcc)
    short = opcode == _JMP_REL8
    words = np.ndarray((elf.data.size - 3,), "<i4", elf.data, strides=(1,))
    target = np.concatenate(
        (
            address[long] + 4 + words[at[long]].astype(np.int64),
            address[short] + 1 + elf.data[at[short]].view(np.int8).astype(np.int64),
        )
    )
    stub, behind = stubs
    target = np.concatenate((target, behind[np.isin(stub, target)]))
    index = np.searchsorted(start, target).clip(max=start.size - 1)
    reached: NDArray[np.int64] = np.unique(index[start[index] == target])
    return reached
