"""Functions of an extension's types that Python calls when its collector runs or an object dies.

A type is either a static `PyTypeObject`, with the field offsets of CPython's stable layout (3.8 to
3.14), or made from an array of `PyType_Slot`, each a number and a pointer.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.pointers import IMPORTED
from trimtab.binaries.elf.tables import SYMBOL, symbol_name, table_rows
from trimtab.binaries.relations.code import Code

# Offsets of fields of a PyTypeObject, relative to tp_name.
_REFERENCES, _SIZE, _BASIC_SIZE, _ITEM_SIZE, _FLAGS = -24, -8, 8, 16, 144
# tp_dealloc, tp_traverse, tp_clear, tp_free, tp_del, tp_finalize
_LIFE_CYCLE_FIELDS = (24, 160, 168, 296, 352, 368)
_TYPE_BYTES = 384
_LARGEST_OBJECT_BYTES = 1 << 16
# Py_tp_clear, Py_tp_dealloc, Py_tp_del, Py_tp_traverse, Py_tp_free, Py_tp_finalize (typeslots.h)
_LIFE_CYCLE_SLOTS = (51, 52, 53, 71, 74, 80)
_MOST_SLOTS = 128


def life_cycle_slots(code: Code, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the functions that free and traverse the types of an extension with a chosen function.

    `chosen` and the result are bool, shape (n,). Data mistaken for a type can only add functions.
    """
    result = np.zeros(code.start.shape, bool)
    if chosen.any() and _is_extension(code):
        result |= code.beginning_at(_of_static_types(code))
        result |= code.beginning_at(_of_slot_arrays(code))
    return result


def _is_extension(code: Code) -> bool:
    symbols = table_rows(code.elf, ".dynsym", SYMBOL)
    imported = symbols["name"][symbols["section"] == 0].tolist()
    return any(symbol_name(code.elf, name).startswith(("Py", "_Py")) for name in imported)


def _of_static_types(code: Code) -> NDArray[np.int64]:
    pointers = code.pointers
    name = pointers.slot[(pointers.target != IMPORTED) & (code.index_at(pointers.target) < 0)]
    name = name[_word(code, name + _TYPE_BYTES) != -1]  # the whole type is in the file
    name = name[(_word(code, name + _REFERENCES) > 0) & (_word(code, name + _SIZE) == 0)]
    for field in (_BASIC_SIZE, _ITEM_SIZE):
        size = _word(code, name + field)
        name = name[(size >= 0) & (size < _LARGEST_OBJECT_BYTES)]
    for field in (_REFERENCES, _SIZE, _BASIC_SIZE, _ITEM_SIZE, _FLAGS):
        name = name[pointers.index_of(name + field) < 0]
    for field in _LIFE_CYCLE_FIELDS:
        at = pointers.index_of(name + field)
        target = pointers.target[at]
        function = (target == IMPORTED) | (code.index_at(target) >= 0)
        name = name[np.where(at >= 0, function, _word(code, name + field) == 0)]
    return pointers.behind(np.concatenate([name + field for field in _LIFE_CYCLE_FIELDS]))


def _of_slot_arrays(code: Code) -> NDArray[np.int64]:
    pointers = code.pointers
    number, following = _word(code, pointers.slot - 8), _word(code, pointers.slot + 8)
    row = np.isin(number, _LIFE_CYCLE_SLOTS) & (following >= 0) & (following < _MOST_SLOTS)
    row &= (pointers.index_of(pointers.slot - 8) < 0) & (pointers.index_of(pointers.slot + 8) < 0)
    return pointers.target[row]


def _word(code: Code, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the eight bytes at each address as a number, -1 outside the file."""
    offset = code.elf.offsets_of(addresses)
    inside = (offset >= 0) & (offset <= code.elf.size_bytes - 8)
    every = np.ndarray((max(code.elf.size_bytes - 7, 0),), "<i8", code.elf.data, strides=(1,))
    result = np.full(addresses.shape, -1, np.int64)
    result[inside] = every[offset[inside]]
    return result
