"""A library's code for the rules of relation, without decoding."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.pointers import Pointers, read_pointers
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.rewriting.locate import LINKAGE_SECTIONS

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Places:
    """Bytes of functions where an operand may begin: file offsets and addresses, shape (n,).

    `fits`: the function has room for a displacement of four bytes there.
    """

    elf: Elf
    offset: NDArray[np.int64]
    address: NDArray[np.int64]
    fits: NDArray[np.bool_]

    def before(self, distance: int) -> NDArray[np.uint8]:
        """Return the byte at this distance before each place."""
        return self.elf.data[np.maximum(self.offset - distance, 0)]

    def far(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the targets of displacements of four bytes at the chosen places."""
        words = np.ndarray((self.elf.size_bytes - 3,), "<i4", self.elf.data, strides=(1,))
        return self.address[chosen] + 4 + words[self.offset[chosen]].astype(np.int64)

    def near(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the targets of displacements of one byte at the chosen places."""
        byte = self.elf.data[self.offset[chosen]].view(np.int8)
        return self.address[chosen] + 1 + byte.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Code:
    """The functions of `elf` (int64 addresses, sizes and file offsets, shape (n,)) and pointers.

    `linkage` marks tables of stubs, which are not functions: they call everything.
    """

    elf: Elf
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    offset: NDArray[np.int64]
    linkage: NDArray[np.bool_]
    pointers: Pointers

    @classmethod
    def of(cls, elf: Elf, functions: Functions) -> "Code":
        """Return the code of `elf` with these functions."""
        start = functions.start.astype(np.int64)
        linkage = np.zeros(start.shape, bool)
        for section in elf.sections:
            if section.name in LINKAGE_SECTIONS:
                linkage |= (start >= section.address) & (start - section.address < section.size)
        size = functions.size.astype(np.int64)
        return cls(elf, start, size, elf.offsets_of(start), linkage, read_pointers(elf))

    def index_at(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the function that begins at each address, or -1."""
        if not self.start.size:
            return np.full(addresses.shape, -1, np.int64)
        index = np.searchsorted(self.start, addresses).clip(max=self.start.size - 1)
        return np.where(self.start[index] == addresses, index, -1)

    def beginning_at(self, addresses: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the functions that begin at one of the addresses; returns bool, shape (n,)."""
        marks = np.zeros(self.start.shape, bool)
        index = self.index_at(addresses)
        marks[index[index >= 0]] = True
        return marks

    def places(self, chosen: NDArray[np.bool_]) -> Iterator[Places]:
        """Yield all but the first byte of each chosen function (bool, (n,)), a MiB at a time."""
        index = np.flatnonzero(chosen & ~self.linkage)
        if not index.size:
            return
        ends = np.cumsum(self.size[index])
        cuts = np.searchsorted(ends, np.arange(_CHUNK_BYTES, ends[-1], _CHUNK_BYTES))
        for part in np.split(index, np.unique(cuts)):
            length = self.size[part] - 1
            first = np.cumsum(length) - length
            within = np.arange(length.sum()) - np.repeat(first, length) + 1
            yield Places(
                self.elf,
                np.repeat(self.offset[part], length) + within,
                np.repeat(self.start[part], length) + within,
                np.repeat(self.size[part], length) - within >= 4,
            )
