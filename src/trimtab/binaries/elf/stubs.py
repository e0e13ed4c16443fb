"""Linkage stubs: which function of the library itself a call through its PLT ends in.

Libraries whose functions are visible call their own through stubs, so that another library may
take their place. A stub jumps through a slot that a relocation fills with a symbol's address
(System V psABI, AMD64 supplement, 5.2).
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import RELOCATION, SYMBOL, table_rows

_STUB_SECTIONS = (".plt", ".plt.sec", ".plt.got", ".plt.bnd")
_JUMP_THROUGH_SLOT = (0xFF, 0x25)  # jmp *displacement(%rip)
_JUMP_BYTES = 6
_GLOB_DAT, _JUMP_SLOT = 6, 7
_USUAL_STUB_BYTES = 16
_ADDRESS_LIMIT = 1 << 47  # the end of user space


def stub_targets(elf: Elf) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return addresses of stubs, rising, and the addresses in this library that they lead to.

    Both int64, shape (n,). Stubs for functions of other libraries are left out.
    """
    slots, values = _filled_slots(elf)
    stub, slot = stub_slots(elf)
    index = np.searchsorted(slots, slot)
    has_slot = index < slots.size
    has_slot[has_slot] = slots[index[has_slot]] == slot[has_slot]
    stub, first = np.unique(stub[has_slot], return_index=True)
    return stub, values[index[has_slot]][first]


def stub_slots(elf: Elf) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the addresses of all linkage stubs and of the slots that they jump through."""
    stubs = [np.empty(0, np.int64)]
    slots = [np.empty(0, np.int64)]
    for section in elf.sections:
        code = elf.data[section.offset : section.end]
        if section.name not in _STUB_SECTIONS or code.size < _JUMP_BYTES:
            continue
        if section.address >= _ADDRESS_LIMIT:
            continue
        size = section.entsize or _USUAL_STUB_BYTES
        at = np.flatnonzero(
            (code[:-5] == _JUMP_THROUGH_SLOT[0]) & (code[1:-4] == _JUMP_THROUGH_SLOT[1])
        )
        displacement = np.ndarray((code.size - 3,), "<i4", code, strides=(1,))[at + 2]
        stubs.append(section.address + at // size * size)
        slots.append(section.address + at + _JUMP_BYTES + displacement.astype(np.int64))
    return np.concatenate(stubs), np.concatenate(slots)


def _filled_slots(elf: Elf) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the slots that relocations fill with this library's own symbols, and their values."""
    symbols = table_rows(elf, ".dynsym", SYMBOL)
    tables = [table_rows(elf, name, RELOCATION) for name in (".rela.plt", ".rela.dyn")]
    relocations = np.concatenate(tables)
    kind = relocations["type"]
    relocations = relocations[
        ((kind == _JUMP_SLOT) | (kind == _GLOB_DAT)) & (relocations["symbol"] < symbols.size)
    ]
    symbol = symbols[relocations["symbol"]]
    own = (symbol["section"] != 0) & (symbol["value"] < np.uint64(_ADDRESS_LIMIT))
    slot, first = np.unique(relocations["slot"][own].astype(np.int64), return_index=True)
    return slot, symbol["value"][own][first].astype(np.int64)
