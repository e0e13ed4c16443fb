"""Symbols and relocations as tables (System V gABI, Elf64_Sym and Elf64_Rela)."""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.reader import Elf

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
RELOCATION = np.dtype([("slot", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_LONGEST_NAME = 1 << 16


def table_rows(elf: Elf, name: str, layout: np.dtype[np.void]) -> NDArray[np.void]:
    """Return the rows of the section `name`, none if it is missing."""
    section = elf.section(name)
    if section is None:
        return np.empty(0, layout)
    present = max(min(section.end, elf.size_bytes) - section.offset, 0)
    count = present // layout.itemsize
    return np.frombuffer(elf.data, layout, count, section.offset)


def symbol_name(elf: Elf, offset: int) -> str:
    """Return the name at `offset` of the dynamic symbols' string table."""
    strings = elf.section(".dynstr")
    if strings is None:
        return ""
    text = elf.data[strings.offset + offset : strings.end][:_LONGEST_NAME].tobytes()
    return text.partition(b"\0")[0].decode("utf-8", "backslashreplace")
