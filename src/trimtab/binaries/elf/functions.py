"""Where a library's functions are, from its unwind tables.

Every function that an exception may pass through has a frame description entry (FDE) in
`.eh_frame`, also in stripped libraries, and `.eh_frame_hdr` lists them all in one sorted table.
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
_PCREL, _ABSOLUTE, _APPLICATION = 0x10, 0x00, 0x70
_CIE_BYTES_READ = 32  # enough for every augmentation string and its data


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions of one library: virtual addresses and sizes, uint64, shape (n,), sorted.

    No two overlap. `reason` says why there are none, and is empty otherwise. `dropped` counts the
    entries left out because they overlap, lie outside executable segments or cannot be decoded: no
    function holds their code, so that it is always kept. A function's cold part is one of its own,
    which the hot part enters anywhere.
    """

    start: NDArray[np.uint64]
    size: NDArray[np.uint64]
    dropped: int = 0
    reason: str = ""

    def __len__(self) -> int:
        return self.start.size


def read_functions(elf: Elf) -> Functions:
    """Return the functions that `.eh_frame_hdr` lists, with the sizes that their FDEs give.

    A library without that table, or with a damaged one, has no functions and a `reason`.
    """
    table, reason = _read_table(elf)
    entry = elf.offsets_of(table[:, 1])
    start, size = _decode(elf, entry)
    executable = _executable(elf, start, size)
    good = np.flatnonzero(executable & (size > 0) & (start == table[:, 0]))
    good = good[_alone(start[good], size[good])]
    return Functions(
        start[good].astype(np.uint64),
        size[good].astype(np.uint64),
        dropped=table.shape[0] - good.size,
        reason=reason,
    )


def _read_table(elf: Elf) -> tuple[NDArray[np.int64], str]:
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


def _decode(elf: Elf, entry: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return address and size of the FDEs at file offsets `entry`; size 0 where undecodable."""
    start, size = np.zeros(entry.shape, np.int64), np.zeros(entry.shape, np.int64)
    limit = elf.size_bytes - _CIE_BYTES_READ
    possible = np.flatnonzero((entry >= 0) & (entry <= limit))
    length, cie_distance = (_gather(elf, entry[possible] + skip, "<u4") for skip in (0, 4))
    cie = entry[possible] + 4 - cie_distance
    # Lengths of 0xfffffff0 and above announce the 64-bit format, which linkers never write here.
    sound = (length >= 12) & (length < 0xFFFFFFF0) & (cie_distance > 0) & (cie >= 0)
    possible, cie = possible[sound], cie[sound]
    encodings = _encodings(elf, cie)
    for encoding in np.unique(encodings).tolist():
        format_, application = encoding & 0x0F, encoding & _APPLICATION
        if format_ not in _POINTER_FORMATS or application not in (_PCREL, _ABSOLUTE):
            continue
        chosen = possible[encodings == encoding]
        field = entry[chosen] + 8
        value = _gather(elf, field, _POINTER_FORMATS[format_])
        width = _POINTER_BYTES[format_]
        start[chosen] = value + (elf.addresses_of(field) if application == _PCREL else 0)
        size[chosen] = _gather(elf, field + width, f"<u{width}")
    size[(size < 0) | (start < 0)] = 0
    return start, size


def _gather(elf: Elf, offsets: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
    """Read one unaligned integer of dtype `kind` at each file offset."""
    dtype = np.dtype(kind)
    every = np.ndarray((elf.size_bytes - dtype.itemsize + 1,), dtype, elf.data, strides=(1,))
    values: NDArray[np.int64] = every[offsets].astype(np.int64)
    return values


def _executable(elf: Elf, start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each function lies wholly within the bytes of one executable segment."""
    rows = [(s.address, s.address + s.file_bytes, s.flags & PF_X) for s in elf.loads]
    loads = np.array(rows, np.int64)
    low, high, flag = loads[np.searchsorted(loads[:, 0], start, "right") - 1].T
    result: NDArray[np.bool_] = (flag != 0) & (start >= low) & (size <= high - start)
    return result


def _encodings(elf: Elf, cie: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pointer encoding that each FDE's CIE gives, -1 where it cannot be told.

    Libraries have many CIEs and few kinds of them: each kind is parsed once.
    """
    places, which_place = np.unique(cie, return_inverse=True)
    heads = elf.data[places[:, None] + np.arange(_CIE_BYTES_READ)]
    kinds, which_kind = np.unique(heads[:, 8:], axis=0, return_inverse=True)
    is_cie = heads[:, 4:8].max(axis=1, initial=0) == 0
    encodings = np.array([_encoding_of(kind.tobytes()) for kind in kinds], np.int64)
    by_place = np.where(is_cie, encodings[which_kind.ravel()], -1) if places.size else encodings
    return by_place[which_place]


def _encoding_of(cie: bytes) -> int:
    """Return the FDE pointer encoding of the CIE whose bytes after its id these are, or -1."""
    end = cie.find(b"\0", 1)
    if cie[0] not in (1, 3, 4) or end < 0:
        return -1
    augmentation, position = cie[1:end], end + 1
    if cie[0] == 4:
        position += 2  # address size and segment selector size
    if augmentation[:1] != b"z":
        return 0 if not augmentation else -1
    # Code alignment, data alignment, return register and augmentation length are LEB128.
    for _ in range(4):
        while position < len(cie) and cie[position] & 0x80:
            position += 1
        position += 1
    for letter in augmentation[1:]:
        if position >= len(cie):
            return -1
        if letter == ord("R"):
            return cie[position]
        if letter == ord("P"):
            position += 1 + _POINTER_BYTES.get(cie[position] & 0x0F, _CIE_BYTES_READ)
        elif letter == ord("L"):
            position += 1
        elif letter not in b"SB":
            return -1
    return 0


def _alone(start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return indices, by ascending address, of the functions that share no byte with another."""
    order = np.argsort(start, kind="stable")
    low, high = start[order], (start + size)[order]
    joins_previous = np.zeros(low.shape, bool)
    joins_previous[1:] = low[1:] < np.maximum.accumulate(high)[:-1]
    joined_by_next = np.append(joins_previous[1:], False)[: low.size]
    alone: NDArray[np.int64] = order[~(joins_previous | joined_by_next)]
    return alone
