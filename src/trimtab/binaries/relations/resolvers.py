"""Functions that the dynamic linker calls to choose others (ifunc)."""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import RELOCATION, SYMBOL, table_rows

_STT_GNU_IFUNC, _IRELATIVE = 10, 37


def resolvers(elf: Elf, functions: Functions) -> NDArray[np.bool_]:
    """Return which functions (bool, shape (n,)) are resolvers of a symbol or a relocation.

    They run while programs are linked, before anything can be restored. Which of them run depends
    on the references of the program and its other libraries.
    """
    symbols = table_rows(elf, ".dynsym", SYMBOL)
    indirect = (symbols["info"] & 0xF == _STT_GNU_IFUNC) & (symbols["section"] != 0)
    relocations = np.concatenate(
        [table_rows(elf, name, RELOCATION) for name in (".rela.plt", ".rela.dyn")]
    )
    relative = relocations["addend"][relocations["type"] == _IRELATIVE].astype(np.uint64)
    return np.isin(functions.start, np.concatenate((symbols["value"][indirect], relative)))
