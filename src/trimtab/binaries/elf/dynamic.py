"""A library's information for the dynamic linker: names, flags and build-id.

Formats: gABI chapter 5 (dynamic section, notes); the build-id is an NT_GNU_BUILD_ID note.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.headers import PT_DYNAMIC, PT_LOAD, PT_NOTE, ProgramHeader
from trimtab.binaries.errors import ElfError

_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME, _DT_TEXTREL = 1, 5, 10, 14, 22
_DT_FLAGS, _DT_FLAGS_1 = 30, 0x6FFFFFFB
_DF_TEXTREL, _DF_1_PIE = 0x4, 0x08000000
_NT_GNU_BUILD_ID = 3
# Limits far above any real file, so that a hostile file costs neither time nor memory.
_LONGEST_NAME = 4096
_MOST_ENTRIES = 65_536
_MOST_NOTES = 1_024


@dataclass
class Dynamic:
    """The dynamic section's names and flags."""

    soname: str | None = None
    needed: list[str] = field(default_factory=list)
    has_text_relocations: bool = False
    is_pie: bool = False


def read_string(path: Path, data: NDArray[np.uint8], start: int, limit: int) -> str:
    """Return the NUL-terminated string at offset `start` that ends before offset `limit`.

    Raises ElfError if it lies outside or does not end within 4,096 bytes.
    """
    limit = min(limit, data.size, start + _LONGEST_NAME)
    text = bytes(data[start:limit]) if start < limit else b""
    end = text.find(b"\0")
    if end < 0:
        raise ElfError(path, f"has a name at {start:#x} that is outside its string table")
    return text[:end].decode("utf-8", "backslashreplace")


def read_dynamic(path: Path, data: NDArray[np.uint8], segments: list[ProgramHeader]) -> Dynamic:
    """Return the contents of PT_DYNAMIC; empty if there is none.

    Raises ElfError if its string table is missing or outside the file.
    """
    segment = next((s for s in segments if s.type == PT_DYNAMIC), None)
    if segment is None:
        return Dynamic()
    count = segment.file_bytes // 16
    if count > _MOST_ENTRIES:
        raise ElfError(path, f"has {count} dynamic entries; expected at most {_MOST_ENTRIES}")
    entries: list[tuple[int, int]] = []
    for tag, value in struct.iter_unpack("<qQ", data[segment.offset :][: count * 16].tobytes()):
        if tag == 0:
            break
        entries.append((tag, value))
    values = dict(entries)
    flags = values.get(_DT_FLAGS, 0)
    result = Dynamic(
        has_text_relocations=_DT_TEXTREL in values or bool(flags & _DF_TEXTREL),
        is_pie=bool(values.get(_DT_FLAGS_1, 0) & _DF_1_PIE),
    )
    named = [(tag, value) for tag, value in entries if tag in (_DT_NEEDED, _DT_SONAME)]
    if not named:
        return result
    table = _offset_of(segments, values.get(_DT_STRTAB))
    if table is None:
        raise ElfError(path, "has a dynamic section whose string table is in no segment")
    for tag, value in named:
        name = read_string(path, data, table + value, table + values.get(_DT_STRSZ, 0))
        if tag == _DT_SONAME:
            result.soname = name
        else:
            result.needed.append(name)
    return result


def read_build_id(data: NDArray[np.uint8], segments: list[ProgramHeader]) -> str | None:
    """Return the GNU build-id in hexadecimal, or None; only the first 1,024 notes are read."""
    left_notes = _MOST_NOTES
    for segment in (s for s in segments if s.type == PT_NOTE):
        position, step = segment.offset, 8 if segment.alignment == 8 else 4
        while left_notes > 0:
            left_notes -= 1
            if position + 12 > segment.offset + segment.file_bytes:
                break
            name_bytes, text_bytes, kind = struct.unpack(
                "<III", data[position : position + 12].tobytes()
            )
            text = position + 12 + -(-name_bytes // 4) * 4
            text += (segment.offset - text) % step
            end = text + text_bytes
            if end > segment.offset + segment.file_bytes:
                break
            if kind == _NT_GNU_BUILD_ID and bytes(data[position + 12 :][:4]) == b"GNU\0":
                return data[text : min(end, text + 64)].tobytes().hex()
            position = end + (segment.offset - end) % step
    return None


def _offset_of(segments: list[ProgramHeader], address: int | None) -> int | None:
    for load in (s for s in segments if s.type == PT_LOAD):
        if address is not None and load.address <= address < load.address + load.file_bytes:
            return address - load.address + load.offset
    return None
