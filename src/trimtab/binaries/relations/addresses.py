"""Functions whose address other code takes: callbacks, managers, registered destructors."""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.relations.code import Code

_LEA, _MOV = 0x8D, 0x8B
_REX_W, _REX_MASK = 0x48, 0xF8  # 64-bit operands, for any register
_RIP_RELATIVE, _OPERAND_MASK = 0x05, 0xC7  # displacement(%rip), for any register


def address_taken(code: Code, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the functions whose address the chosen ones (bool, (n,)) take, bool, shape (n,).

    Matched are `lea function(%rip), register`, and a `mov` from a pointer to one. Misread bytes can
    only add functions.
    """
    result = np.zeros(code.start.shape, bool)
    for places in code.places(chosen):
        opcode = places.before(2)
        relative = places.fits & (places.before(1) & _OPERAND_MASK == _RIP_RELATIVE)
        relative &= places.before(3) & _REX_MASK == _REX_W
        read = code.pointers.behind(places.far(relative & (opcode == _MOV)))
        taken = places.far(relative & (opcode == _LEA))
        result |= code.beginning_at(np.concatenate((taken, read)))
    return result
