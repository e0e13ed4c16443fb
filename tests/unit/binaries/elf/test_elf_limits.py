"""Counts in a file cost no more work than its size."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from example_libraries import compile_library

from trimtab.binaries.elf.dynamic import read_build_id
from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PT_NOTE, ProgramHeader
from trimtab.binaries.elf.imports import imported_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.elf.stubs import stub_slots
from trimtab.binaries.elf.tables import SYMBOL
from trimtab.binaries.errors import ElfError

Compiled = Callable[[str], Path]


def with_sections(library: Path, path: Path, name: str, times: int) -> Path:
    """Write the library to `path` with so many more headers of the section `name`."""
    data, elf = library.read_bytes(), read_elf(library)
    count = len(elf.sections)
    table = data[elf.section_header_offset : elf.section_header_offset + 64 * count]
    row = next(i for i, section in enumerate(elf.sections) if section.name == name)
    padding = bytes(-len(data) % 8)
    changed = bytearray(data + padding + table + table[64 * row : 64 * row + 64] * times)
    struct.pack_into("<Q", changed, 40, len(data) + len(padding))
    struct.pack_into("<H", changed, 60, count + times)
    path.write_bytes(changed)
    return path


def test_stubs_are_read_once(c_library: Compiled, tmp_path: Path) -> None:
    """Each of 65,000 sections may be the whole file."""
    library = c_library("default")
    once = stub_slots(read_elf(library))
    assert once[0].size > 0
    again = with_sections(library, tmp_path / "again.so", ".plt", 2)
    assert stub_slots(read_elf(again))[0].size > once[0].size
    whole = bytearray(with_sections(library, tmp_path / "whole.so", ".plt", 2).read_bytes())
    for back in (64, 128):
        struct.pack_into("<QQ", whole, len(whole) - back + 24, 0, library.stat().st_size)
    (tmp_path / "whole.so").write_bytes(whole)
    with pytest.raises(ElfError, match="linkage stubs that overlap"):
        stub_slots(read_elf(tmp_path / "whole.so"))


def test_notes_are_counted_over_all_segments() -> None:
    """65,534 segments of 1,024 notes each were read for a minute."""
    notes = struct.pack("<III", 4, 0, 7) + b"ABC\0"
    build_id = struct.pack("<III", 4, 8, 3) + b"GNU\0" + bytes(range(8))
    data = np.frombuffer(notes * 600 + build_id, np.uint8)
    whole = ProgramHeader(PT_NOTE, 0, 0, 0, 0, data.size, data.size, 4)
    others = ProgramHeader(PT_NOTE, 0, 0, 0, 0, 600 * len(notes), 600 * len(notes), 4)
    assert read_build_id(data, [whole]) == bytes(range(8)).hex()
    assert read_build_id(data, [others, whole]) is None


def test_names_of_symbols_that_overlap_are_refused(tmp_path: Path) -> None:
    """Each of a million symbols may name the rest of a table of a million bytes."""
    names = [f"imported_{number:02}" for number in range(64)]
    source = "".join(f"int {name}(void);\n" for name in names)
    source += f"int all(void) {{ return {' + '.join(f'{name}()' for name in names)}; }}\n"
    path = compile_library(tmp_path / "libnames.so", source, "-O1", "-shared", "-fPIC")
    elf = read_elf(path)
    functions = read_functions(elf)
    everything = np.ones(len(functions), bool)
    assert imported_names(elf, functions, everything) >= set(names)
    strings, table = elf.section(".dynstr"), elf.section(".dynsym")
    assert strings is not None and table is not None
    data = bytearray(path.read_bytes())
    data[strings.offset : strings.end] = b"\0" + b"n" * (strings.size - 2) + b"\0"
    symbols = np.frombuffer(data, SYMBOL, table.size // SYMBOL.itemsize, table.offset).copy()
    symbols["name"] = np.arange(1, symbols.size + 1)
    data[table.offset : table.offset + symbols.nbytes] = symbols.tobytes()
    (tmp_path / "changed.so").write_bytes(data)
    with pytest.raises(ElfError, match="names of symbols that overlap"):
        imported_names(read_elf(tmp_path / "changed.so"), functions, everything)
