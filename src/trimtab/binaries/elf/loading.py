"""The loader's view of any ELF program or library, for each word size and byte order.

`reader` is stricter, supports only x86-64, and reads the files that are debloated. Formats: gABI
chapters 4 and 5; Go's additions, cmd/link/internal/ld/elf.go of its source.
"""

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, Literal

from trimtab.binaries.elf.headers import PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_NOTE

_NEEDED, _STRTAB, _RPATH, _RUNPATH = 1, 5, 15, 29
_FILTERS = (0x7FFFFFFD, 0x7FFFFFFF)  # DT_AUXILIARY, DT_FILTER: loaded like needed libraries
# Limits far above any real file.
_LONGEST_NAME, _MOST_DYNAMIC_BYTES, _MOST_NAMES = 4096, 1 << 20, 1024
_MOST_NOTE_BYTES, _MOST_TABLE_BYTES = 1 << 16, 1 << 24
_NO_SEGMENTS_HERE = 0xFFFF  # PN_XNUM: the number is elsewhere
_LINKER_OF_GLIBC = "ld-linux"
_ORDERS: dict[str, Literal["little", "big"]] = {"<": "little", ">": "big"}
_NOTE_OF_GO, _SECTION_OF_GO = b"Go\0\0", b".go.buildinfo\0"


@dataclass(frozen=True, slots=True)
class Loading:
    """The interpreter (PT_INTERP), and the names and paths of the dynamic section, in its order.

    `machine` is e_machine with the word size in bits: only libraries with the same one fit.
    `of_go`: Go's linker made the program, which makes most system calls itself.
    """

    machine: tuple[int, int]
    interpreter: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    of_go: bool = False

    @property
    def by_glibc(self) -> bool:
        """Whether the interpreter is glibc's dynamic linker."""
        return PurePosixPath(self.interpreter or "").name.startswith(_LINKER_OF_GLIBC)


def read_loading(file: BinaryIO) -> Loading | None:
    """Return the contents of the ELF file, or None if no loader would accept it."""
    try:
        return _read(file)
    except struct.error:  # cut off, or damaged
        return None


def _read(file: BinaryIO) -> Loading | None:
    ident = file.read(16)
    if (
        len(ident) < 16
        or ident[:4] != b"\x7fELF"
        or ident[4] not in (1, 2)
        or ident[5] not in (1, 2)
    ):
        return None
    order, wide = "<>"[ident[5] - 1], ident[4] == 2
    header = struct.Struct(order + ("HHIQQQIHHH" if wide else "HHIIIIIHHH"))
    kind, machine, _, _, table, sections, _, _, size, count = header.unpack(file.read(header.size))
    row_bytes, rows, names = (int.from_bytes(file.read(2), _ORDERS[order]) for _ in range(3))
    row = struct.Struct(order + ("IIQQQQQQ" if wide else "IIIIIIII"))
    if kind not in (2, 3) or size != row.size or count == _NO_SEGMENTS_HERE:
        return None
    segments = [
        # type, offset, address, bytes in the file
        (each[0], *((each[2], each[3], each[5]) if wide else (each[1], each[2], each[4])))
        for each in row.iter_unpack(_exactly(file, table, count * size))
    ]
    interpreter = None
    for segment in segments:
        if segment[0] == PT_INTERP:
            interpreter = _name(file, segment[1])
    dynamic = next((segment for segment in segments if segment[0] == PT_DYNAMIC), None)
    of = (machine, 64 if wide else 32)
    of_go = any(
        _has_note_of_go(file, segment[1], min(segment[3], _MOST_NOTE_BYTES), order)
        for segment in segments
        if segment[0] == PT_NOTE
    ) or _has_section_of_go(file, order, wide, sections, row_bytes, rows, names)
    if dynamic is None:
        return Loading(of, interpreter, of_go=of_go)
    pair = struct.Struct(order + ("qQ" if wide else "iI"))
    bytes_used = min(dynamic[3], _MOST_DYNAMIC_BYTES) // pair.size * pair.size
    entries = []
    for tag, value in pair.iter_unpack(_exactly(file, dynamic[1], bytes_used)):
        if tag == 0:
            break
        entries.append((tag, value))
    strings = dict(entries).get(_STRTAB, -1)
    loads = [each[1:] for each in segments if each[0] == PT_LOAD]
    if not _offset_of(strings, loads):
        return Loading(of, interpreter, of_go=of_go)
    named: dict[int, list[str]] = {}
    wanted = (_NEEDED, _RPATH, _RUNPATH, *_FILTERS)
    for tag, value in [entry for entry in entries if entry[0] in wanted][:_MOST_NAMES]:
        # A name may precede the string table, as `rewriting.dt_auxiliary` adds one.
        offset = _offset_of((strings + value) % (1 << of[1]), loads)
        if not offset:
            raise struct.error("a name that is not loaded")
        named.setdefault(tag, []).append(_name(file, offset))
    needed = [name for tag in (_NEEDED, *_FILTERS) for name in named.get(tag, ())]
    rpath, runpath = _folders(named.get(_RPATH)), _folders(named.get(_RUNPATH))
    return Loading(of, interpreter, tuple(needed), rpath, runpath, of_go)


def _offset_of(address: int, loads: Sequence[tuple[int, int, int]]) -> int:
    """Return an address's file offset, by segments of (offset, address, bytes), or 0."""
    return next((at + address - low for at, low, size in loads if 0 <= address - low < size), 0)


def _has_note_of_go(file: BinaryIO, offset: int, length: int, order: str) -> bool:
    """Whether a note is Go's build ID, with the name `Go`; damaged notes are ignored."""
    try:
        notes, at = _exactly(file, offset, length), 0
        while at < length:
            name_bytes, text_bytes, _ = struct.unpack_from(order + "III", notes, at)
            name = at + 12
            if notes[name : name + name_bytes] == _NOTE_OF_GO:
                return True
            at = name + -(-name_bytes // 4) * 4 + -(-text_bytes // 4) * 4
    except struct.error:
        pass
    return False


def _has_section_of_go(
    file: BinaryIO, order: str, wide: bool, table: int, row_bytes: int, rows: int, names: int
) -> bool:
    """Whether a section has Go's build information, for programs without a build ID."""
    row = struct.Struct(order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII"))
    if row_bytes != row.size or names >= rows:
        return False
    try:
        found = list(row.iter_unpack(_exactly(file, table, rows * row_bytes)))
        _, _, _, _, offset, size, *_ = found[names]
        texts = _exactly(file, offset, min(size, _MOST_TABLE_BYTES))
    except struct.error:
        return False
    return any(texts.startswith(_SECTION_OF_GO, each[0]) for each in found)


def _go(file: BinaryIO, offset: int) -> None:
    if offset > file.seek(0, os.SEEK_END):
        raise struct.error("a place past the end")
    file.seek(offset)


def _exactly(file: BinaryIO, offset: int, length: int) -> bytes:
    _go(file, offset)
    data = file.read(length)
    if len(data) < length:
        raise struct.error("cut off")
    return data


def _name(file: BinaryIO, offset: int) -> str:
    _go(file, offset)
    text, end, _ = file.read(_LONGEST_NAME).partition(b"\0")
    if not end:
        raise struct.error("a name without an end")
    return os.fsdecode(text)


def _folders(paths: list[str] | None) -> tuple[str, ...]:
    return tuple(folder for path in paths or () for folder in path.split(":") if folder)
