"""The functions of a library, from its unwind tables.

Every function that an exception may pass through has a frame description entry (FDE) in
`.eh_frame`, even in stripped libraries. `.eh_frame_hdr` lists all of them in one sorted table.
Formats: LSB core 5.0, chapter 10.6, and the DWARF 5 standard, section 6.4.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import PF_X, PT_GNU_EH_FRAME
from trimtab.binaries.elf.reader import Elf

# .eh_frame_hdr version 1; table entries are sdata4 relative to the header (datarel).
_TABLE_VERSION, _COUNT_UDATA4, _TABLE_DATAREL_SDATA4 = 1, 0x03, 0x3B
_POINTER_FORMATS = {0x00: "<i8", 0x03: "<u4", 0x04: "<u8", 0x0B: "<i4", 0x0C: "<i8"}
_POINTER_BYTES = {0x00: 8, 0x02: 2, 0x03: 4, 0x04: 8, 0x0A: 2, 0x0B: 4, 0x0C: 8}
_PCREL, _ABSOLUTE = 0x10, 0x00
_CIE_BYTES_READ = 32  # enough for every augmentation string and its data


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions of one library: virtual addresses and sizes, uint64, shape (n,), sorted.

    They do not overlap. `reason` says why there are none, "" otherwise. `dropped` counts entries
    that overlap, lie outside executable segments or cannot be decoded: their code belongs to no
    function and is always kept. A function's cold part is a separate function, which the hot part
    may enter anywhere.
    """

    start: NDArray[np.uint64]
    size: NDArray[np.uint64]
    dropped: int = 0
    reason: str = ""

    def __len__(self) -> int:
        return self.start.size


@dataclass(frozen=True, eq=False)
class Descriptions:
    """Frame description entries (FDEs) that can be decoded: int64 arrays of shape (n,).

    Row i belongs to row `row[i]` of the search table. `entry` and `cie` are file offsets of the FDE
    and of its common information entry, `length` the number of bytes after the FDE's first four.
    `encoding` is the CIE's encoding of pointers to code, `exceptions` of pointers to exception
    tables; -1 if unknown. An FDE and the head of its CIE lie in the file.
    """

    row: NDArray[np.int64]
    entry: NDArray[np.int64]
    length: NDArray[np.int64]
    cie: NDArray[np.int64]
    encoding: NDArray[np.int64]
    exceptions: NDArray[np.int64]


def read_functions(elf: Elf) -> Functions:
    """Return the functions that `.eh_frame_hdr` lists, with the sizes that their FDEs give.

    Without that table, or with a damaged one, there are no functions, but a `reason`.
    """
    table, reason = read_search_table(elf)
    start, size = _decode(elf, descriptions_of(elf, table), table.shape[0])
    executable = _executable(elf, start, size)
    good = np.flatnonzero(executable & (size > 0) & (start == table[:, 0]))
    good = good[_alone(start[good], size[good])]
    return Functions(
        start[good].astype(np.uint64),
        size[good].astype(np.uint64),
        dropped=table.shape[0] - good.size,
        reason=reason,
    )


def read_search_table(elf: Elf) -> tuple[NDArray[np.int64], str]:
    """Return (function address, FDE address) rows, int64, shape (n, 2), or why there are none."""
    nothing = np.empty((0, 2), np.int64)
    header = next((s for s in elf.segments if s.type == PT_GNU_EH_FRAME), None)
    if header is None or header.file_bytes < 12:
        return nothing, "it has no .eh_frame_hdr"
    version, _, count_encoding, table_encoding = elf.data[header.offset :][:4].tolist()
    if (version, count_encoding, table_encoding) != (
        _TABLE_VERSION,
        _COUNT_UDATA4,
        _TABLE_DATAREL_SDATA4,
    ):
        return nothing, "its .eh_frame_hdr has no search table of a known encoding"
    count = int(elf.data[header.offset + 8 :][:4].view("<u4")[0])
    if count > (header.file_bytes - 12) // 8:
        return nothing, f"its .eh_frame_hdr claims {count} functions, more than it has room for"
    rows = elf.data[header.offset + 12 :][: count * 8].view("<i4").reshape(-1, 2)
    return rows.astype(np.int64) + header.address, ""


def descriptions_of(elf: Elf, table: NDArray[np.int64]) -> Descriptions:
    """Return the FDEs in the rows of a search table, without damaged ones."""
    entry = elf.offsets_of(table[:, 1])
    limit = elf.size_bytes - _CIE_BYTES_READ
    row = np.flatnonzero((entry >= 0) & (entry <= limit))
    length, cie_distance = (gathered(elf, entry[row] + skip, "<u4") for skip in (0, 4))
    cie = entry[row] + 4 - cie_distance
    # Lengths of 0xfffffff0 and above announce the 64-bit format, which linkers never write here.
    sound = (length >= 12) & (length < 0xFFFFFFF0) & (entry[row] + 4 + length <= elf.size_bytes)
    # The CIE precedes this entry, so the file holds its head too.
    sound &= (cie_distance > 4) & (cie >= 0)
    row, length, cie = row[sound], length[sound], cie[sound]
    encoding, exceptions = _encodings(elf, cie)
    return Descriptions(row, entry[row], length, cie, encoding, exceptions)


def _decode(
    elf: Elf, descriptions: Descriptions, rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return address and size of the function of each table row; size 0 if undecodable."""
    start, size = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for encoding in np.unique(descriptions.encoding).tolist():
        if not is_direct(encoding):
            continue
        here = descriptions.encoding == encoding
        chosen, field = descriptions.row[here], descriptions.entry[here] + 8
        width = pointer_bytes(encoding)
        start[chosen] = pointers_at(elf, field, encoding)
        size[chosen] = gathered(elf, field + width, f"<u{width}")
    size[(size < 0) | (start < 0)] = 0
    return start, size


def is_direct(encoding: int) -> bool:
    """Whether pointers of this encoding are absolute or self-relative, with a fixed width."""
    return encoding & 0x0F in _POINTER_FORMATS and encoding & ~0x0F in (_PCREL, _ABSOLUTE)


def pointer_bytes(encoding: int) -> int:
    """Return the length of a pointer of a direct encoding."""
    return _POINTER_BYTES[encoding & 0x0F]


def pointers_at(elf: Elf, offsets: NDArray[np.int64], encoding: int) -> NDArray[np.int64]:
    """Return the addresses in pointers of a direct encoding at these file offsets."""
    value = gathered(elf, offsets, _POINTER_FORMATS[encoding & 0x0F])
    return value + (elf.addresses_of(offsets) if encoding & _PCREL else 0)


def gathered(elf: Elf, offsets: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
    """Read one unaligned integer of dtype `kind` at each file offset, all inside the file."""
    dtype = np.dtype(kind)
    every = np.ndarray((elf.size_bytes - dtype.itemsize + 1,), dtype, elf.data, strides=(1,))
    values: NDArray[np.int64] = every[offsets].astype(np.int64)
    return values


def _executable(elf: Elf, start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each function lies in the file bytes of one executable segment."""
    rows = [(s.address, s.address + s.file_bytes, s.flags & PF_X) for s in elf.loads]
    loads = np.array(rows, np.int64)
    low, high, flag = loads[np.searchsorted(loads[:, 0], start, "right") - 1].T
    result: NDArray[np.bool_] = (flag != 0) & (start >= low) & (size <= high - start)
    return result


def _encodings(elf: Elf, cie: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pointer encodings in each FDE's CIE, -1 if unknown.

    Libraries have many CIEs but few kinds: each kind is parsed once.
    """
    places, which_place = np.unique(cie, return_inverse=True)
    heads = elf.data[places[:, None] + np.arange(_CIE_BYTES_READ)]
    kinds, which_kind = np.unique(heads[:, 8:], axis=0, return_inverse=True)
    is_cie = heads[:, 4:8].max(axis=1, initial=0) == 0
    told = np.array([_encodings_of(kind.tobytes()) for kind in kinds], np.int64).reshape(-1, 2)
    by_place = np.where(is_cie[:, None], told[which_kind.ravel()], -1)
    encoding, exceptions = by_place[which_place.ravel()].T
    return encoding, exceptions


def _encodings_of(cie: bytes) -> tuple[int, int]:
    """Return a CIE's encodings of pointers to code and to exception tables, or -1.

    The bytes are those after its id.
    """
    unknown, end = (-1, -1), cie.find(b"\0", 1)
    if cie[0] not in (1, 3, 4) or end < 0:
        return unknown
    augmentation, position = cie[1:end], end + 1
    if cie[0] == 4:
        position += 2  # address size and segment selector size
    if augmentation[:1] != b"z":
        return unknown if augmentation else (0, -1)
    # Code alignment, data alignment, return register and augmentation length are LEB128.
    for _ in range(4):
        while position < len(cie) and cie[position] & 0x80:
            position += 1
        position += 1
    code = exceptions = -1
    for letter in augmentation[1:]:
        if position >= len(cie) or letter not in b"RPLSB":
            return code, -1
        if letter == ord("R"):
            code = cie[position]
            position += 1
        elif letter == ord("P"):
            position += 1 + _POINTER_BYTES.get(cie[position] & 0x0F, _CIE_BYTES_READ)
        elif letter == ord("L"):
            exceptions = cie[position]
            position += 1
    return max(code, 0), exceptions


def _alone(start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return indices, by ascending address, of the functions that overlap no other."""
    order = np.argsort(start, kind="stable")
    low, high = start[order], (start + size)[order]
    joins_previous = np.zeros(low.shape, bool)
    joins_previous[1:] = low[1:] < np.maximum.accumulate(high)[:-1]
    joined_by_next = np.append(joins_previous[1:], False)[: low.size]
    alone: NDArray[np.int64] = order[~(joins_previous | joined_by_next)]
    return alone
