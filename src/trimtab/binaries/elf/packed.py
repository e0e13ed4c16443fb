"""Packed relative relocations: `.relr.dyn` (gABI's chapter on relocation, DT_RELR)."""

import numpy as np
from numpy.typing import NDArray

_WORD_BYTES, _BITS_A_WORD = 8, 63


def packed_slots(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the addresses in packed relocations, uint64; `words` are as in the file.

    An even word is an address; an odd word has a bit for each of the 63 words after the last
    address. Words before the first address are ignored. Addresses wrap at 64 bits.
    """
    is_address = (words & np.uint64(1)) == 0
    place = np.arange(words.size)
    last = np.maximum.accumulate(np.where(is_address, place, -1))
    bitmap = np.flatnonzero(~is_address & (last >= 0))
    behind = (bitmap - last[bitmap] - 1) * (_BITS_A_WORD * _WORD_BYTES) + _WORD_BYTES
    base = words[last[bitmap]] + behind.astype(np.uint64)
    bits = np.unpackbits(words[bitmap].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    row, bit = np.nonzero(bits[:, 1:])
    slots = base[row] + (bit * _WORD_BYTES).astype(np.uint64)
    return np.concatenate((words[is_address], slots)).astype(np.uint64)
