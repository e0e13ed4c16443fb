"""Virtual functions: the tables of pointers that C++ compilers write for classes.

By the Itanium C++ ABI (2.5.2) a table has its distance from the object's top, a plain number; a
pointer to the class's type information; and a pointer for each virtual function. Relocations alone
show this: no symbols are needed. Tables without type information (-fno-rtti) are not found.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.pointers import IMPORTED
from trimtab.binaries.relations.code import Code

_POINTER_BYTES = 8
_CONSTANT_POINTERS = ".data.rel.ro"


def vtable_siblings(code: Code, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return all entries of the tables that hold a chosen function; both are bool, (n,)."""
    entry, table = vtables(code)
    result = np.zeros(code.start.shape, bool)
    if entry.size:
        entered = np.zeros(int(table.max()) + 1, bool)
        entered[table[chosen[entry]]] = True
        result[entry[entered[table]]] = True
    return result


def vtables(code: Code) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the functions in tables, by index, and the number of each one's table."""
    constant = _is_constant(code, code.pointers.slot)
    slot, target = code.pointers.slot[constant], code.pointers.target[constant]
    function = code.index_at(target)
    follows = np.zeros(slot.shape, bool)
    follows[1:] = np.diff(slot) == _POINTER_BYTES
    # A pointer to data, or one that follows no pointer, begins a table or is in none.
    imported = target == IMPORTED  # a function of a base class, or type information
    begins = ~follows | ((function < 0) & ~imported)
    table = np.cumsum(begins) - 1
    has_type = ~follows & (imported | _is_constant(code, target))
    inside = (function >= 0) & has_type[begins][table]
    return function[inside], table[inside]


def _is_constant(code: Code, addresses: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each address is in a section that is constant after its pointers are written."""
    result = np.zeros(addresses.shape, bool)
    for section in code.elf.sections:
        if section.name.startswith(_CONSTANT_POINTERS):
            result |= (addresses >= section.address) & (addresses - section.address < section.size)
    return result
