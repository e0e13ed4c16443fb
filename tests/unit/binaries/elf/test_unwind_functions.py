import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
from example_libraries import LAYOUTS, real_libraries

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import (
    EM_X86_64,
    ET_DYN,
    HEADER,
    PF_R,
    PF_X,
    PT_GNU_EH_FRAME,
    PT_LOAD,
    ProgramHeader,
)
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf

Compiled = Callable[[str], Path]


def entries_of(path: Path) -> list[tuple[int, int]]:
    with path.open("rb") as file:
        entries = ELFFile(file).get_dwarf_info().EH_CFI_entries()
        fdes = [entry.header for entry in entries if isinstance(entry, FDE)]
        return sorted((h["initial_location"], h["address_range"]) for h in fdes)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_equal_pyelftools(c_library: Compiled, layout: str) -> None:
    functions = read_functions(read_elf(c_library(layout)))
    pairs = zip(functions.start.tolist(), functions.size.tolist(), strict=True)
    assert list(pairs) == entries_of(c_library(layout))
    assert len(functions) > 64 and functions.dropped == 0


@pytest.mark.parametrize("path", real_libraries()[:4], ids=lambda path: path.name)
def test_functions_of_packages_equal_pyelftools(path: Path) -> None:
    functions = read_functions(read_elf(path))
    pairs = zip(functions.start.tolist(), functions.size.tolist(), strict=True)
    assert list(pairs) == entries_of(path)


def test_names_equal_nm(c_library: Compiled) -> None:
    for layout, arguments in (("default", []), ("stripped", ["-D"])):
        path = c_library(layout)
        listing = subprocess.run(
            ["nm", *arguments, "--defined-only", path], capture_output=True, text=True, check=True
        ).stdout
        names = function_names(read_elf(path))
        rows = [line.split() for line in listing.splitlines()]
        expected = [(int(row[0], 16), row[2]) for row in rows if row[1] in "tTi"]
        assert len(names) == len(expected) or layout == "default"
        for address, _ in expected:
            assert names.of(address) in {name for at, name in expected if at == address}
            assert names.of(address + 1) is None


def damaged(path: Path, tmp_path: Path, offset: int, kind: str, value: int) -> Path:
    data = bytearray(path.read_bytes())
    struct.pack_into(f"<{kind}", data, offset, value)
    result = tmp_path / "damaged.so"
    result.write_bytes(data)
    return result


@pytest.mark.parametrize(
    ("skip", "kind", "value", "reason"),
    [
        (0, "B", 2, "encoding"),
        (3, "B", 0x1B, "encoding"),
        (8, "I", 2**31 - 1, "more than it has room for"),
    ],
)
def test_a_damaged_table_gives_no_functions_and_a_reason(
    c_library: Compiled, tmp_path: Path, skip: int, kind: str, value: int, reason: str
) -> None:
    path = c_library("default")
    table = next(s for s in read_elf(path).segments if s.type == PT_GNU_EH_FRAME)
    functions = read_functions(read_elf(damaged(path, tmp_path, table.offset + skip, kind, value)))
    assert len(functions) == 0 and reason in functions.reason


def test_a_library_without_the_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    command = ["gcc", "-x", "c", "-", "-shared", "-nostdlib", "-Wl,--no-eh-frame-hdr", "-o", path]
    subprocess.run(command, input=b"int f(void){return 1;}", check=True)
    assert "no .eh_frame_hdr" in read_functions(read_elf(path)).reason


def field_of(path: Path, name: str, skip: int) -> tuple[int, int]:
    """File offset of a field of the FDE of a function, and the function's address."""
    elf = read_elf(path)
    address = next(
        int(a) for a in read_functions(elf).start if function_names(elf).of(int(a)) == name
    )
    with path.open("rb") as file:
        entries = ELFFile(file).get_dwarf_info().EH_CFI_entries()
        found = next(
            e for e in entries if isinstance(e, FDE) and e.header["initial_location"] == address
        )
    section = elf.section(".eh_frame")
    assert section is not None
    return section.offset + found.offset + skip, address


def test_functions_that_overlap_are_dropped(c_library: Compiled, tmp_path: Path) -> None:
    path = c_library("default")
    whole = read_functions(read_elf(path)).start.tolist()
    field, address = field_of(path, "function_5", 12)
    functions = read_functions(read_elf(damaged(path, tmp_path, field, "I", 0x1001)))
    following = whole[whole.index(address) + 1]
    assert set(whole) - set(functions.start.tolist()) == {address, following}
    assert functions.dropped == 2


def test_functions_that_leave_their_segment_are_dropped(
    c_library: Compiled, tmp_path: Path
) -> None:
    path = c_library("default")
    field, address = field_of(path, "function_5", 12)
    functions = read_functions(read_elf(damaged(path, tmp_path, field, "I", 2**31)))
    assert address not in functions.start


def test_functions_never_overlap_and_ascend(cxx_library: Path) -> None:
    functions = read_functions(read_elf(cxx_library))
    assert np.all(functions.start[1:] >= functions.start[:-1] + functions.size[:-1])


@pytest.mark.parametrize("distance", [0, 1, 2, 3, 4, 2**31, 2**32 - 1])
def test_an_entry_at_the_end_of_the_file_leads_to_nothing_behind_it(
    tmp_path: Path, distance: int
) -> None:
    """What it has in common with others would begin in its last bytes, and end behind the file."""
    table = 64 + 2 * 56
    entry = table + 20
    size = entry + 32
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = HEADER.pack(ident, ET_DYN, EM_X86_64, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = ProgramHeader(PT_LOAD, PF_R | PF_X, 0, 0, 0, size, size, 4096)
    search = ProgramHeader(PT_GNU_EH_FRAME, PF_R, table, table, table, 20, 20, 4)
    rows = struct.pack("<4BiIii", 1, 0x1B, 0x03, 0x3B, 0, 1, 0, entry - table)
    description = struct.pack("<II", 12, distance).ljust(32, b"\1")
    path = tmp_path / "a.so"
    path.write_bytes(header + load.pack() + search.pack() + rows + description)
    functions = read_functions(read_elf(path))
    assert (len(functions), functions.dropped, functions.reason) == (0, 1, "")
