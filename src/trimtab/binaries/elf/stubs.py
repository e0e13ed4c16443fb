"""Linkage stubs: the pointers behind the calls through a library's PLT.

Libraries also call their own visible functions through stubs, so that another library may replace
them. A stub jumps through a slot, into which a relocation writes a symbol's address (System V
psABI, AMD64 supplement, 5.2).
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.errors import ElfError

_STUB_SECTIONS = (".plt", ".plt.sec", ".plt.got", ".plt.bnd")
_JUMP_THROUGH_SLOT = (0xFF, 0x25)  # jmp *displacement(%rip)
_JUMP_BYTES = 6
_USUAL_STUB_BYTES = 16
_ADDRESS_LIMIT = 1 << 47  # the end of user space


def stub_slots(elf: Elf) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the addresses of all linkage stubs and of the slots that they jump through.

    Raises ElfError if their sections are together larger than the file.
    """
    stubs = [np.empty(0, np.int64)]
    slots = [np.empty(0, np.int64)]
    left_bytes = elf.size_bytes
    for section in elf.sections:
        code = elf.data[section.offset : section.end]
        if section.name not in _STUB_SECTIONS or code.size < _JUMP_BYTES:
            continue
        left_bytes -= code.size
        if left_bytes < 0:
            raise ElfError(elf.path, "has sections of linkage stubs that overlap")
        if section.address >= _ADDRESS_LIMIT:
            continue
        # Other sizes are damaged.
        size = section.entsize if 0 < section.entsize <= code.size else _USUAL_STUB_BYTES
        at = np.flatnonzero(
            (code[:-5] == _JUMP_THROUGH_SLOT[0]) & (code[1:-4] == _JUMP_THROUGH_SLOT[1])
        )
        displacement = np.ndarray((code.size - 3,), "<i4", code, strides=(1,))[at + 2]
        stubs.append(section.address + at // size * size)
        slots.append(section.address + at + _JUMP_BYTES + displacement.astype(np.int64))
    return np.concatenate(stubs), np.concatenate(slots)
