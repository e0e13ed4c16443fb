"""Functions that are kept with those that ran, because another run is likely to enter them.

A missed function costs the restoring of one page, whatever its size; keeping it costs its bytes. So
directly called functions are always kept, and otherwise related ones if they are small. The rules
and their order were chosen by measurement: `benchmarks/relations.py`.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.relations.addresses import address_taken
from trimtab.binaries.relations.calls import called, with_called
from trimtab.binaries.relations.code import Code
from trimtab.binaries.relations.type_slots import life_cycle_slots
from trimtab.binaries.relations.vtables import vtable_siblings

SMALL_BYTES = 128


def with_likely(elf: Elf, functions: Functions, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return `used` (bool, shape (n,)) and every function that another run is likely to enter.

    These are functions that Python itself calls, all directly called functions from there, and all
    small functions related to them by a call, a virtual function table or a taken address.
    """
    if used.all():
        return used.copy()
    code = Code.of(elf, functions)
    kept = with_called(code, used | life_cycle_slots(code, used))
    return with_small_relatives(code, kept, SMALL_BYTES)


def with_small_relatives(
    code: Code, used: NDArray[np.bool_], largest_bytes: int
) -> NDArray[np.bool_]:
    """Return `used` (bool, (n,)) and all functions up to that size related to a kept one."""
    small = code.size <= largest_bytes
    kept = used.copy()
    frontier = used
    while frontier.any():
        related = called(code, frontier) | address_taken(code, frontier)
        related |= vtable_siblings(code, frontier)
        frontier = related & small & ~kept
        kept |= frontier
    return kept
