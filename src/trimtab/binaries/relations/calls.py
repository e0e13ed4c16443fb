"""Direct calls and jumps of functions, by a displacement, a linkage stub or a slot."""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.stubs import stub_slots
from trimtab.binaries.relations.code import Code, Places

_CALL_REL32, _JMP_REL32, _JMP_REL8 = 0xE8, 0xE9, 0xEB
_TWO_BYTE, _JCC_REL32, _HIGH_NIBBLE = 0x0F, 0x80, 0xF0
_GROUP_5, _CALL_THROUGH, _JMP_THROUGH = 0xFF, 0x15, 0x25  # *displacement(%rip)


def called(code: Code, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which functions the chosen ones (bool, (n,)) call or jump to, bool, shape (n,).

    Every byte may be the opcode of a call or jump with a displacement. It counts if that leads to a
    function's first byte, to its linkage stub or, in a call through memory, to a pointer to it.
    Misread bytes can only add functions.
    """
    stub, slot = stub_slots(code.elf)
    result = np.zeros(code.start.shape, bool)
    for places in code.places(chosen):
        direct, through = _targets(places)
        slots = np.concatenate((through, slot[np.isin(stub, direct)]))
        result |= code.beginning_at(np.concatenate((direct, code.pointers.behind(slots))))
    return result


def with_called(code: Code, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return `used` (bool, (n,)) and all functions that these reach by direct calls and jumps."""
    result = used.copy()
    frontier = used
    while frontier.any():
        frontier = called(code, frontier) & ~result
        result |= frontier
    return result


def _targets(places: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the targets of calls and jumps, and the slots that calls through memory read."""
    opcode, prefix = places.before(1), places.before(2)
    jcc = (opcode & _HIGH_NIBBLE == _JCC_REL32) & (prefix == _TWO_BYTE)
    far = places.fits & ((opcode == _CALL_REL32) | (opcode == _JMP_REL32) | jcc)
    through = (opcode == _CALL_THROUGH) | (opcode == _JMP_THROUGH)
    through &= places.fits & (prefix == _GROUP_5)
    direct = (places.far(far), places.near(opcode == _JMP_REL8))
    return np.concatenate(direct), places.far(through)
