"""A reader of cubins: ELF files with the machine code of one GPU architecture.

NVIDIA documents neither the machine type's own flags nor its symbol kinds in full; the ones here
were determined with ptxas of CUDA 12.9 (ABI version 7) and 13.5 (ABI version 8).
"""

import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.tables import SYMBOL
from trimtab.binaries.gpu.architecture import Architecture

CUBIN_HEADER_BYTES = 64
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_EM_CUDA = 190
_ACCELERATED_FLAG = {7: 0x800, 8: 0x8}  # of e_flags, by ABI version
_FIRST_ACCELERATED = 90  # cuBLAS also sets the flag on hand-written code for older GPUs
_ACCELERATED_ATTRIBUTE = 9  # of .nv.compat, where ptxas 13 no longer sets the flag
_VALUE_WITH_SIZE = 4  # an attribute's format; all others have 4 bytes
_MOST_NAME_REUSE = 16  # times that symbols may point into the same string table
_MOST_ROWS = 1 << 18  # of sections or symbols; 8,752 and 7,208 are the most in CUDA's libraries
_MOST_OVERLAP = 8  # limit of the sum of a cubin's sections over its size; 1.95 is the most
_SYMTAB = 2
# NOBITS, and NVIDIA's kinds of it: global, local, shared and reserved shared memory.
_NOT_STORED = (8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015)
_OBJECT, _FUNCTION, _TEXTURE, _SURFACE, _CUDA_OBJECT = 1, 2, 10, 11, 13
_ENTRY = 0x10  # STO_CUDA_ENTRY of st_other
_GLOBAL_SECTIONS = (".nv.global", ".nv.constant3")

SECTION = np.dtype(
    [
        ("name", "<u4"),
        ("type", "<u4"),
        ("flags", "<u8"),
        ("address", "<u8"),
        ("offset", "<u8"),
        ("size", "<u8"),
        ("link", "<u4"),
        ("info", "<u4"),
        ("alignment", "<u8"),
        ("entsize", "<u8"),
    ]
)


class CubinError(ValueError):
    """Bytes are not a well-formed cubin; the message says why, without the place."""


@dataclass(frozen=True, eq=False)
class Cubin:
    """The content of a cubin, by mangled name; `sections` and `symbols` are its tables' rows.

    `globals` are the variables that the host can look up. `section_names` and `sections` have one
    entry a section.
    """

    architecture: Architecture
    kernels: tuple[str, ...]
    globals: tuple[str, ...]
    data: bytes = field(repr=False)
    sections: NDArray[np.void] = field(repr=False)
    section_names: tuple[str, ...] = field(repr=False)
    symbols: NDArray[np.void] = field(repr=False)
    kernel_sections: dict[str, int] = field(repr=False)

    def content(self, section: int) -> bytes:
        """Return the bytes of one section, by its index."""
        row = self.sections[section]
        return self.data[int(row["offset"]) : int(row["offset"]) + int(row["size"])]


def cubin_architecture(header: bytes) -> Architecture:
    """Return the architecture in the first 64 bytes of a cubin.

    With ptxas 13 only `read_cubin` finds whether the code is for this architecture alone. A cubin
    does not separate 'f' from plain code. Raises CubinError for anything else.
    """
    if len(header) < CUBIN_HEADER_BYTES or header[:6] != b"\x7fELF\x02\x01":
        raise CubinError("is no 64-bit ELF file")
    fields = _HEADER.unpack_from(header)
    if fields[2] != _EM_CUDA:
        raise CubinError(f"is for machine {fields[2]}; expected {_EM_CUDA} (CUDA)")
    abi, flags = header[8], fields[7]
    number = flags >> 8 & 0xFF if abi >= 8 else flags & 0xFF
    accelerated = number >= _FIRST_ACCELERATED and flags & _ACCELERATED_FLAG.get(abi, 0)
    return Architecture(number, "a" if accelerated else "")


def read_cubin(data: bytes) -> Cubin:
    """Return the architecture, functions and globals of a cubin.

    Raises CubinError if `data` is no cubin, or its tables do not fit into it.
    """
    architecture = cubin_architecture(data[:CUBIN_HEADER_BYTES])
    sections, section_names = _read_sections(data)
    if not architecture.variant and _is_accelerated(data, sections, section_names):
        architecture = Architecture(architecture.number, "a")
    symbols, names = _read_symbols(data, sections)
    kinds = symbols["info"] & 15
    defined = (symbols["section"] > 0) & (symbols["section"] < len(sections))
    functions = defined & (kinds == _FUNCTION)
    entries = (symbols["other"] & _ENTRY) != 0
    in_global = np.array([name.startswith(_GLOBAL_SECTIONS) for name in section_names], bool)
    objects = defined & np.isin(kinds, (_OBJECT, _CUDA_OBJECT))
    objects[objects] = in_global[symbols["section"][objects]]
    textures = np.isin(kinds, (_TEXTURE, _SURFACE))
    kernels = np.flatnonzero(functions & entries)
    kernel_names = names.at(symbols["name"][kernels])
    return Cubin(
        architecture=architecture,
        kernels=tuple(kernel_names),
        # The compiler's own names contain a dollar, such as a printf's format.
        globals=tuple(
            name for name in names.at(symbols["name"][objects | textures]) if name[:1] != "$"
        ),
        data=data,
        sections=sections,
        section_names=section_names,
        symbols=symbols,
        kernel_sections=dict(zip(kernel_names, symbols["section"][kernels].tolist(), strict=True)),
    )


def _read_sections(data: bytes) -> tuple[NDArray[np.void], tuple[str, ...]]:
    fields = _HEADER.unpack_from(data)
    offset, entry_bytes, count, names = fields[6], *fields[11:14]
    if entry_bytes != SECTION.itemsize:
        raise CubinError(f"has section headers of {entry_bytes} bytes; expected {SECTION.itemsize}")
    if count == 0:  # more than 65,279: the first header holds the number (gABI)
        first = _table(data, SECTION, offset, 1)[0]
        count = int(first["size"])
        names = int(first["link"]) if names == 0xFFFF else names
    sections = _table(data, SECTION, offset, count)
    stored = sections[~np.isin(sections["type"], _NOT_STORED)]
    if (stored["size"] > len(data)).any() or (
        stored["offset"] > len(data) - stored["size"].astype(np.int64)
    ).any():
        raise CubinError("has a section past its end")
    if stored["size"].sum(dtype=np.float64) > _MOST_OVERLAP * len(data):
        raise CubinError("has sections that overlap")
    if names >= count:
        raise CubinError(f"names section {names} as its string table but has {count}")
    return sections, tuple(_Names(data, sections[names]).at(sections["name"]))


def _read_symbols(data: bytes, sections: NDArray[np.void]) -> tuple[NDArray[np.void], "_Names"]:
    tables = np.flatnonzero(sections["type"] == _SYMTAB)
    if len(tables) != 1:
        raise CubinError(f"has {len(tables)} symbol tables; expected one")
    table = sections[tables[0]]
    if table["link"] >= len(sections):
        raise CubinError("has a symbol table without names")
    count = int(table["size"]) // SYMBOL.itemsize
    symbols = _table(data, SYMBOL, int(table["offset"]), count)
    if (symbols["section"] == 0xFFFF).any():
        raise CubinError("has symbols in sections past number 65,279, which are not supported")
    return symbols, _Names(data, sections[table["link"]])


def _is_accelerated(
    data: bytes, sections: NDArray[np.void], section_names: tuple[str, ...]
) -> bool:
    if ".nv.compat" not in section_names:
        return False
    row = sections[section_names.index(".nv.compat")]
    position, end = int(row["offset"]), int(row["offset"]) + int(row["size"])
    while position + 4 <= end:
        kind, attribute, value = struct.unpack_from("<BBH", data, position)
        if attribute == _ACCELERATED_ATTRIBUTE:
            return bool(value == 1)
        position += 4 + (value if kind == _VALUE_WITH_SIZE else 0)
    return False


def _table(data: bytes, row: np.dtype[np.void], offset: int, count: int) -> NDArray[np.void]:
    if count > _MOST_ROWS:
        raise CubinError(f"has a table of {count} rows; expected at most {_MOST_ROWS}")
    if offset + count * row.itemsize > len(data):
        raise CubinError(f"has a table of {count} rows past its end")
    return np.frombuffer(data, row, count, offset)


class _Names:
    """A string table; reads from it are bounded, as names may overlap."""

    def __init__(self, data: bytes, table: np.void):
        self._strings = data[int(table["offset"]) : int(table["offset"]) + int(table["size"])]
        self._left_bytes = _MOST_NAME_REUSE * len(self._strings)

    def at(self, offsets: NDArray[np.uint32]) -> list[str]:
        names = []
        for offset in offsets.tolist():
            end = self._strings.find(b"\0", offset)
            if end < 0:
                raise CubinError("has a name past its string table")
            self._left_bytes -= end - offset
            if self._left_bytes < 0:
                raise CubinError("has names that overlap")
            names.append(self._strings[offset:end].decode("utf-8", "backslashreplace"))
        return names
