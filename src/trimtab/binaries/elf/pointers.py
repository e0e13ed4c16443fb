"""The pointers that the dynamic linker writes into a library's data.

Formats: System V psABI, AMD64 supplement, 4.4; for packed relocations (`.relr.dyn`), the gABI's
chapter on relocation.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.packed import packed_slots
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import RELOCATION, SYMBOL, table_rows

IMPORTED = -1
_ABSOLUTE, _GLOB_DAT, _JUMP_SLOT, _RELATIVE = 1, 6, 7, 8
_ADDRESS_LIMIT = 1 << 47  # the end of user space
_WORD_BYTES = 8


@dataclass(frozen=True, eq=False)
class Pointers:
    """Addresses of pointers, ascending, and their targets; both int64, shape (n,).

    A pointer to the first byte of another library's symbol has the target `IMPORTED`; pointers to
    other bytes of it are left out.
    """

    slot: NDArray[np.int64]
    target: NDArray[np.int64]

    def index_of(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the pointer at each address, or -1."""
        if not self.slot.size:
            return np.full(slots.shape, -1, np.int64)
        index = np.searchsorted(self.slot, slots).clip(max=self.slot.size - 1)
        return np.where(self.slot[index] == slots, index, -1)

    def behind(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the targets of the pointers at these addresses, for addresses with a pointer."""
        index = self.index_of(slots)
        return self.target[index[index >= 0]]


def read_pointers(elf: Elf) -> Pointers:
    """Return the pointers in `elf` that relocations write, each address once."""
    symbols = table_rows(elf, ".dynsym", SYMBOL)
    tables = [table_rows(elf, name, RELOCATION) for name in (".rela.plt", ".rela.dyn")]
    rows = np.concatenate(tables)
    relative = rows[rows["type"] == _RELATIVE]
    named = rows[np.isin(rows["type"], (_ABSOLUTE, _GLOB_DAT, _JUMP_SLOT))]
    named = named[named["symbol"] < symbols.size]
    symbol = symbols[named["symbol"]]
    addend = np.where(named["type"] == _ABSOLUTE, named["addend"], 0)
    own = symbol["section"] != 0
    target = np.where(own, symbol["value"].astype(np.int64) + addend, IMPORTED)
    known = own | (addend == 0)
    packed, packed_target = _packed(elf)
    slot = np.concatenate(
        (relative["slot"].astype(np.int64), named["slot"][known].astype(np.int64), packed)
    )
    value = np.concatenate((relative["addend"].astype(np.int64), target[known], packed_target))
    sound = (slot >= 0) & (slot < _ADDRESS_LIMIT) & (value >= IMPORTED) & (value < _ADDRESS_LIMIT)
    slot, first = np.unique(slot[sound], return_index=True)
    return Pointers(slot, value[sound][first])


def _packed(elf: Elf) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the slots of packed relative relocations, and their contents."""
    section = elf.section(".relr.dyn")
    words = elf.data[section.offset : section.end] if section else elf.data[:0]
    slots = packed_slots(words[: words.size // _WORD_BYTES * _WORD_BYTES].view("<u8"))
    slot = slots[slots < _ADDRESS_LIMIT].astype(np.int64)
    offset = elf.offsets_of(slot)
    inside = (offset >= 0) & (offset <= elf.size_bytes - _WORD_BYTES)
    every = np.ndarray((max(elf.size_bytes - 7, 0),), "<i8", elf.data, strides=(1,))
    return slot[inside], every[offset[inside]].astype(np.int64)
