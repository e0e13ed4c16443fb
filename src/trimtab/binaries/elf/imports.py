"""The imports of a library's functions, by the names of symbols."""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.stubs import stub_slots
from trimtab.binaries.elf.tables import RELOCATION, SYMBOL, symbol_name, table_rows
from trimtab.binaries.errors import ElfError

_MOST_NAME_REUSE = 16  # times that symbols may name the same bytes; linkers share suffixes
_ABSOLUTE = 1  # R_X86_64_64: a pointer in a table, for any reader


def imported_names(elf: Elf, functions: Functions, chosen: NDArray[np.bool_]) -> frozenset[str]:
    """Return the imported functions and variables that `chosen` functions (bool, (n,)) refer to.

    Code is not decoded: any four bytes count as a displacement if they lead to a linkage stub, or
    to a slot that a relocation fills with an imported symbol. Pointers to imported symbols in data
    count for any function. Misread bytes can only add names. Code of the large model
    (`-mcmodel=large`), which has no displacements of four bytes, is not supported.
    """
    symbols = table_rows(elf, ".dynsym", SYMBOL)
    tables = [table_rows(elf, name, RELOCATION) for name in (".rela.plt", ".rela.dyn")]
    relocations = np.concatenate(tables)
    symbol = relocations["symbol"]
    relocations = relocations[(symbol > 0) & (symbol < symbols.size)]
    relocations = relocations[symbols["section"][relocations["symbol"]] == 0]
    of_slot = dict(zip(relocations["slot"].tolist(), relocations["symbol"].tolist(), strict=True))
    stubs, slots = stub_slots(elf)
    of_place = dict(of_slot)
    for stub, slot in zip(stubs.tolist(), slots.tolist(), strict=True):
        if slot in of_slot:
            of_place[stub] = of_slot[slot]
    imported = set(relocations["symbol"][relocations["type"] == _ABSOLUTE].tolist())
    for place in _referred(elf, functions, chosen, np.array(sorted(of_place), np.int64)):
        imported.add(of_place[place])
    return _names(elf, np.unique(symbols["name"][sorted(imported)]))


def _names(elf: Elf, offsets: NDArray[np.uint32]) -> frozenset[str]:
    """Return the names at these offsets; the bytes read are bounded by the table's size."""
    strings = elf.section(".dynstr")
    left_bytes = _MOST_NAME_REUSE * (strings.size if strings else 0)
    names = set()
    for offset in offsets.tolist():
        name = symbol_name(elf, offset)
        left_bytes -= len(name)
        if left_bytes < 0:
            raise ElfError(elf.path, "has names of symbols that overlap")
        names.add(name)
    return frozenset(names)


def _referred(
    elf: Elf, functions: Functions, chosen: NDArray[np.bool_], places: NDArray[np.int64]
) -> set[int]:
    """Return which addresses of `places` (ascending) a displacement in a function leads to."""
    referred: set[int] = set()
    if not places.size:
        return referred
    words = np.ndarray((elf.size_bytes - 3,), "<i4", elf.data, strides=(1,))
    starts = functions.start[chosen].astype(np.int64)
    sizes = functions.size[chosen].astype(np.int64)
    offsets = elf.offsets_of(starts)
    for start, size, offset in zip(starts, sizes.tolist(), offsets.tolist(), strict=True):
        displacement = words[offset : offset + size - 3].astype(np.int64)
        target = start + 4 + np.arange(displacement.size) + displacement
        index = np.searchsorted(places, target).clip(max=places.size - 1)
        referred.update(target[places[index] == target].tolist())
    return referred
