"""Names of functions, for reports."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import SHT_DYNSYM, SHT_SYMTAB
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import SYMBOL

_STT_FUNC, _STT_GNU_IFUNC = 2, 10
_LONGEST_NAME = 1 << 16


@dataclass(frozen=True, eq=False)
class FunctionNames:
    """The function symbols of a library; the table is read at the first access."""

    elf: Elf

    @cached_property
    def _table(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
        """Sorted addresses, the file offsets of their names, and the end of the names."""
        for kind in (SHT_SYMTAB, SHT_DYNSYM):
            table = next((s for s in self.elf.sections if s.type == kind), None)
            if table is None or table.link >= len(self.elf.sections):
                continue
            strings = self.elf.sections[table.link]
            symbols = self.elf.data[table.offset :][: table.size // 24 * 24].view(SYMBOL)
            type_ = symbols["info"] & 0xF
            functions = (type_ == _STT_FUNC) | (type_ == _STT_GNU_IFUNC)
            chosen = np.flatnonzero(functions & (symbols["section"] != 0))
            addresses = symbols["value"][chosen]
            order = np.argsort(addresses, kind="stable")
            names = symbols["name"][chosen[order]].astype(np.int64) + strings.offset
            return addresses[order], names, strings.end
        return np.empty(0, np.uint64), np.empty(0, np.int64), 0

    def __len__(self) -> int:
        return self._table[0].size

    def offsets_of(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the file offsets of the names at these virtual addresses, 0 without a name.

        They lie in the file; a zero byte ends a name.
        """
        starts, names, limit = self._table
        if not starts.size:
            return np.zeros(addresses.size, np.int64)
        place = np.searchsorted(starts, addresses.astype(np.uint64)).clip(max=starts.size - 1)
        has_name = (starts[place] == addresses.astype(np.uint64)) & (names[place] < limit)
        return np.where(has_name, names[place], 0)

    def of(self, address: int) -> str | None:
        """Return the (mangled) name of the function that starts at this virtual address."""
        addresses, _, _ = self._table
        place = int(np.searchsorted(addresses, np.uint64(address)))
        if place == addresses.size or int(addresses[place]) != address:
            return None
        return self._name_at(place)

    def before(self, address: int) -> tuple[str, int] | None:
        """Return the (mangled) name of the last function that starts before a virtual address.

        The second value is the distance in bytes. None if no named function does.
        """
        addresses, _, _ = self._table
        for place in range(int(np.searchsorted(addresses, np.uint64(address))) - 1, -1, -1):
            if name := self._name_at(place):
                return name, address - int(addresses[place])
        return None

    def _name_at(self, place: int) -> str:
        _, names, limit = self._table
        start = int(names[place])
        text = self.elf.data[start : min(limit, start + _LONGEST_NAME)].tobytes()
        return text.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def function_names(elf: Elf) -> FunctionNames:
    """Return the names of `elf`'s functions, from `.symtab` or else `.dynsym`."""
    return FunctionNames(elf)
