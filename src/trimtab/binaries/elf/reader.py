"""A strict reader of ELF64 little-endian x86-64 libraries and executables.

The format is in the System V gABI and its AMD64 supplement. The file is mapped, never read whole;
every count and offset is checked against its size before use.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.dynamic import read_build_id, read_dynamic, read_string
from trimtab.binaries.elf.headers import (
    EM_X86_64,
    ET_DYN,
    ET_EXEC,
    HEADER,
    PAGE_BYTES,
    PROGRAM_HEADER,
    PT_DYNAMIC,
    PT_INTERP,
    PT_LOAD,
    SECTION_HEADER,
    SHT_NOBITS,
    SHT_NULL,
    SHT_STRTAB,
    ElfSection,
    ProgramHeader,
)
from trimtab.binaries.errors import ElfError, UnreadableError

_ADDRESS_LIMIT = 1 << 47  # the end of user space; sums of two such numbers fit an int64
_MOST_LOADS = 4096  # linkers write less than ten, and compaction about a thousand
_TYPES = {1: "a relocatable object (.o)", 4: "a core dump"}


@dataclass(frozen=True, eq=False)
class Elf:
    """A shared library or executable; `data` is the mapped file, uint8, read-only."""

    path: Path
    data: NDArray[np.uint8]
    type: int
    machine: int
    program_header_offset: int
    section_header_offset: int
    section_name_index: int
    segments: list[ProgramHeader]
    sections: list[ElfSection]
    build_id: str | None
    soname: str | None
    needed: list[str]
    interpreter: str | None
    has_text_relocations: bool
    is_pie: bool

    @property
    def size_bytes(self) -> int:
        """The file's length."""
        return self.data.size

    @property
    def loads(self) -> list[ProgramHeader]:
        """The PT_LOAD segments, by ascending address, without empty ones."""
        return [s for s in self.segments if s.type == PT_LOAD and s.memory_bytes]

    @property
    def is_static_executable(self) -> bool:
        """Whether this is a program that no dynamic linker loads."""
        if self.interpreter is not None:
            return False
        return self.is_pie or not any(s.type == PT_DYNAMIC for s in self.segments)

    def section(self, name: str) -> ElfSection | None:
        """Return the first section of that name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    def read(self, offset: int, length: int) -> NDArray[np.uint8]:
        """Return a copy of up to `length` bytes, so that a scan maps no pages."""
        return np.fromfile(
            self.path, np.uint8, max(min(length, self.size_bytes - offset), 0), offset=offset
        )

    @contextmanager
    def staying_whole(self) -> Iterator[None]:
        """Raise UnreadableError if the file has become shorter by the end of the block.

        Bytes past its end were read as zeros, or raised SIGBUS (native/truncation).
        """
        try:
            yield
        except Exception:
            self._check_length()
            raise
        self._check_length()

    def _check_length(self) -> None:
        mapping = getattr(self.data, "_mmap", None)
        if mapping is not None and mapping.size() < self.size_bytes:
            raise UnreadableError(self.path, "was made shorter while it was read; try again")

    def offsets_of(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the file offsets of virtual addresses, -1 if no segment holds the byte."""
        loads = np.array([(s.address, s.file_bytes, s.offset) for s in self.loads], np.int64)
        start, length, offset = loads[np.searchsorted(loads[:, 0], addresses, "right") - 1].T
        inside = (addresses >= start) & (addresses - start < length)
        return np.where(inside, addresses - start + offset, -1)

    def addresses_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the virtual addresses of file offsets, -1 if no segment holds the byte."""
        rows = sorted((s.offset, s.file_bytes, s.address) for s in self.loads if s.file_bytes)
        loads = np.array(rows or [(0, 0, 0)], np.int64)
        start, length, address = loads[np.searchsorted(loads[:, 0], offsets, "right") - 1].T
        inside = (offsets >= start) & (offsets - start < length)
        return np.where(inside, offsets - start + address, -1)


def read_elf(path: Path) -> Elf:
    """Map the file at `path` and parse its headers.

    Raises ElfError, with the path and the expectation, unless it is a well-formed ELF64
    little-endian x86-64 shared library or executable.
    """
    data = _map(path)
    size = data.size
    if size < 4 or bytes(data[:4]) != b"\x7fELF":
        raise ElfError(path, "is not an ELF file")
    if size < HEADER.size:
        raise ElfError(path, f"is truncated: {size} bytes, its header alone takes {HEADER.size}")
    fields = HEADER.unpack(data[: HEADER.size].tobytes())
    ident, kind, machine, _, _, program_offset, section_offset = fields[:7]
    program_size, program_count, section_size, section_count, names = fields[9:]
    if ident[4] != 2:
        raise ElfError(path, "is not a 64-bit ELF file; only x86-64 is supported")
    if ident[5] != 1:
        raise ElfError(path, "is not little-endian; only x86-64 is supported")
    if machine != EM_X86_64:
        raise ElfError(path, f"is for machine {machine}; only x86-64 ({EM_X86_64}) is supported")
    if kind not in (ET_EXEC, ET_DYN):
        what = _TYPES.get(kind, f"of ELF type {kind}")
        raise ElfError(path, f"is {what}; expected a shared library or an executable")
    if program_count == 0 or program_count == 0xFFFF or program_size != PROGRAM_HEADER.size:
        raise ElfError(
            path,
            f"has {program_count} program headers of {program_size} bytes; expected 1 to 65534 "
            f"of {PROGRAM_HEADER.size}",
        )
    _check_range(path, "program header table", program_offset, program_count * 56, size)
    segments = [
        ProgramHeader(*row)
        for row in PROGRAM_HEADER.iter_unpack(
            data[program_offset:][: program_count * PROGRAM_HEADER.size].tobytes()
        )
    ]
    _check_segments(path, segments, size)
    sections: list[ElfSection] = []
    if section_offset and section_count:
        if section_size != SECTION_HEADER.size:
            raise ElfError(path, f"has section headers of {section_size} bytes; expected 64")
        _check_range(path, "section header table", section_offset, section_count * 64, size)
        sections = _read_sections(path, data, section_offset, section_count, names)
    interpreter = next((s for s in segments if s.type == PT_INTERP), None)
    dynamic = read_dynamic(path, data, segments)
    return Elf(
        path=path,
        data=data,
        type=kind,
        machine=machine,
        program_header_offset=program_offset,
        section_header_offset=section_offset if sections else 0,
        section_name_index=names if sections else 0,
        segments=segments,
        sections=sections,
        build_id=read_build_id(data, segments),
        soname=dynamic.soname,
        needed=dynamic.needed,
        interpreter=(
            read_string(path, data, interpreter.offset, interpreter.end) if interpreter else None
        ),
        has_text_relocations=dynamic.has_text_relocations,
        is_pie=dynamic.is_pie,
    )


def read_loaded(path: Path) -> tuple[Elf, str]:
    """Return `read_elf`'s result; for a refused file, its bytes alone and the reason.

    The dynamic linker checks less: it also loads a library with damaged section headers. Raises
    UnreadableError.
    """
    try:
        return read_elf(path), ""
    except UnreadableError:
        raise
    except ElfError as error:
        why = str(error).removeprefix(f"{path}: ")
    elf = Elf(
        path=path, data=_map(path), type=ET_DYN, machine=EM_X86_64, program_header_offset=0,
        section_header_offset=0, section_name_index=0, segments=[], sections=[], build_id=None,
        soname=None, needed=[], interpreter=None, has_text_relocations=False, is_pie=False,
    )  # fmt: skip
    return elf, why


def _map(path: Path) -> NDArray[np.uint8]:
    try:
        # Non-blocking: a FIFO would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ElfError(path, "is not a regular file")
            if status.st_size == 0:
                raise ElfError(path, "is empty; expected an ELF file")
            return np.memmap(file, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise UnreadableError(
            path, f"cannot be read: {getattr(error, 'strerror', error)}"
        ) from None


def _check_range(path: Path, what: str, offset: int, length: int, size: int) -> None:
    if offset + length > size:
        raise ElfError(
            path,
            f"has its {what} at {offset:#x} with {length} bytes, past the end of the file "
            f"({size} bytes); it is truncated or damaged",
        )


def _check_segments(path: Path, segments: list[ProgramHeader], size: int) -> None:
    for number, segment in enumerate(segments):
        if segment.file_bytes:
            _check_range(path, f"segment {number}", segment.offset, segment.file_bytes, size)
        if max(segment.address + segment.memory_bytes, segment.offset) > _ADDRESS_LIMIT:
            raise ElfError(path, f"has segment {number} outside the address space")
    loads = [segment for segment in segments if segment.type == PT_LOAD]
    if not any(load.memory_bytes for load in loads) or len(loads) > _MOST_LOADS:
        raise ElfError(path, f"has {len(loads)} loadable segments; expected 1 to {_MOST_LOADS}")
    for load in loads:
        if load.file_bytes > load.memory_bytes:
            raise ElfError(path, f"has a segment at {load.address:#x} larger in file than memory")
        if load.alignment & (load.alignment - 1) or (load.address - load.offset) % PAGE_BYTES:
            raise ElfError(path, f"has a misaligned segment at {load.address:#x}")
    for before, after in pairwise(loads):
        if before.address + before.memory_bytes > after.address:
            raise ElfError(path, f"has overlapping or unsorted segments at {after.address:#x}")
    in_file = sorted((load.offset, load.end) for load in loads if load.file_bytes)
    for (_, end), (start, _) in pairwise(in_file):
        if end > start:
            raise ElfError(path, f"has segments that overlap in the file at {start:#x}")


def _read_sections(
    path: Path, data: NDArray[np.uint8], offset: int, count: int, names: int
) -> list[ElfSection]:
    table = bytes(data[offset : offset + count * SECTION_HEADER.size])
    rows = list(SECTION_HEADER.iter_unpack(table))
    if names >= count:
        raise ElfError(path, f"names section {names} as its string table but has {count} sections")
    for number, row in enumerate(rows):
        if max(row[3:6]) > _ADDRESS_LIMIT:
            raise ElfError(path, f"has section {number} outside the address space")
        if row[1] not in (SHT_NULL, SHT_NOBITS):
            _check_range(path, f"section {number}", row[4], row[5], data.size)
    strings_start, strings_end = rows[names][4], rows[names][4] + rows[names][5]
    if names and rows[names][1] != SHT_STRTAB:
        raise ElfError(path, f"has section names in section {names}, which is no string table")
    sections = []
    for row in rows:
        name = read_string(path, data, strings_start + row[0], strings_end) if names else ""
        sections.append(ElfSection(name, *row))
    return sections
