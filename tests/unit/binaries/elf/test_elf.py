import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection
from example_libraries import LAYOUTS, real_libraries
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.binaries.relations.likely import with_likely
from trimtab.binaries.rewriting.locate import locate
from trimtab.errors import UserError

Compiled = Callable[[str], Path]


def assert_equals_pyelftools(path: Path) -> None:
    elf = read_elf(path)
    with path.open("rb") as file:
        oracle = ELFFile(file)
        for ours, theirs in zip(elf.segments, oracle.iter_segments(), strict=True):
            expected = [theirs[key] for key in ("p_offset", "p_vaddr", "p_filesz", "p_memsz")]
            assert [ours.offset, ours.address, ours.file_bytes, ours.memory_bytes] == expected
            assert (ours.flags, ours.alignment) == (theirs["p_flags"], theirs["p_align"])
            if isinstance(theirs, DynamicSegment):
                tags = list(theirs.iter_tags())
                assert elf.needed == [t.needed for t in tags if t.entry.d_tag == "DT_NEEDED"]
                sonames = [t.soname for t in tags if t.entry.d_tag == "DT_SONAME"]
                assert elf.soname == (sonames[0] if sonames else None)
        for section, theirs in zip(elf.sections, oracle.iter_sections(), strict=True):
            assert section.name == theirs.name
            keys = ("sh_addr", "sh_offset", "sh_size", "sh_flags", "sh_link", "sh_entsize")
            expected = [theirs[key] for key in keys]
            got = [section.address, section.offset, section.size, section.flags, section.link]
            assert [*got, section.entsize] == expected
        notes = oracle.get_section_by_name(".note.gnu.build-id")
        ids = [n["n_desc"] for n in notes.iter_notes()] if isinstance(notes, NoteSection) else []
        assert elf.build_id == (ids[0] if ids else None)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_headers_equal_pyelftools(c_library: Compiled, layout: str) -> None:
    assert_equals_pyelftools(c_library(layout))


@pytest.mark.parametrize("path", real_libraries(), ids=lambda path: path.name)
def test_headers_of_packages_equal_pyelftools(path: Path) -> None:
    assert_equals_pyelftools(path)


def test_an_interpreter_is_told_and_pie_is_not_static() -> None:
    elf = read_elf(Path(sys.executable))
    assert elf.interpreter == "/lib64/ld-linux-x86-64.so.2"
    assert not elf.is_static_executable


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"]])
def test_static_executables_are_told(tmp_path: Path, flags: list[str]) -> None:
    path = tmp_path / "program"
    subprocess.run(
        ["gcc", "-x", "c", "-", *flags, "-o", path], input=b"int main(){return 0;}", check=True
    )
    assert read_elf(path).is_static_executable


def test_text_relocations_are_told(tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    source = ".text\n.globl f\nf: .quad f\n.section .note.GNU-stack\n"
    command = ["gcc", "-x", "assembler", "-", "-shared", "-Wl,-z,notext", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True, capture_output=True)
    elf = read_elf(path)
    assert elf.has_text_relocations
    spans = locate(elf, read_functions(elf), np.zeros(len(read_functions(elf)), bool), False)
    assert "text relocations" in spans.note


def test_a_library_without_section_headers_is_legal(c_library: Compiled, tmp_path: Path) -> None:
    data = bytearray(c_library("default").read_bytes())
    data[40:48], data[60:64] = bytes(8), bytes(4)
    path = tmp_path / "library.so"
    path.write_bytes(data)
    elf = read_elf(path)
    assert elf.sections == [] and len(read_functions(elf)) > 64
    marks = np.zeros(len(read_functions(elf)), bool)
    assert "section headers" in locate(elf, read_functions(elf), marks, False).note


def patched(offset: int, kind: str, value: int) -> Callable[[bytearray], None]:
    return lambda data: struct.pack_into(f"<{kind}", data, offset, value)


def test_relocatable_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "part.o"
    subprocess.run(["gcc", "-x", "c", "-", "-c", "-o", path], input=b"int x;", check=True)
    with pytest.raises(ElfError, match=r"part\.o.*relocatable"):
        read_elf(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (patched(4, "B", 1), "64-bit"),
        (patched(5, "B", 2), "little-endian"),
        (patched(18, "H", 183), "machine 183"),
        (patched(16, "H", 4), "core dump"),
        (patched(0, "I", 0), "not an ELF file"),
        (patched(32, "Q", 2**63), "program header table"),
        (patched(56, "H", 0), "0 program headers"),
        (patched(56, "H", 0xFFFE), "program header table|segment"),
        (patched(40, "Q", 2**64 - 8), "section header table"),
        (patched(60, "H", 0xFEFF), "section header table"),
        (patched(62, "H", 0xFEFE), "string table"),
        (patched(64 + 8, "Q", 2**62), "past the end"),
        (patched(64 + 32, "Q", 2**40), "past the end"),
        (patched(64 + 40, "Q", 2**46), "overlapping"),
        (patched(64 + 16, "Q", 2**63), "address space"),
        (lambda data: data.__delitem__(slice(60, None)), "truncated"),
        (lambda data: data.__delitem__(slice(0x1800, None)), "truncated or damaged"),
        (lambda data: data.clear(), "empty"),
    ],
)
def test_damage_is_named(
    c_library: Compiled, tmp_path: Path, damage: Callable[[bytearray], None], message: str
) -> None:
    data = bytearray(c_library("default").read_bytes())
    damage(data)
    path = tmp_path / "damaged.so"
    path.write_bytes(data)
    with pytest.raises(ElfError, match=message) as caught:
        read_elf(path)
    assert str(path) in str(caught.value) and isinstance(caught.value, UserError)


def test_segments_that_overlap_in_the_file_are_refused(c_library: Compiled, tmp_path: Path) -> None:
    path = c_library("default")
    data, elf = bytearray(path.read_bytes()), read_elf(path)
    index = elf.segments.index(elf.loads[1])
    struct.pack_into("<Q", data, 64 + index * 56 + 8, 0)
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(data)
    with pytest.raises(ElfError, match="overlap in the file"):
        read_elf(damaged)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(ElfError, match=str(path)):
            read_elf(path)


def read_everything(path: Path) -> None:
    elf = read_elf(path)
    functions = read_functions(elf)
    used = with_likely(elf, functions, np.arange(len(functions)) % 2 == 0)
    locate(elf, functions, used, keep_symbols=False).validate(elf.size_bytes)
    names = function_names(elf)
    for address in functions.start[:50].tolist():
        names.of(address)


@settings(max_examples=150, deadline=2000, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_mutated_files_raise_nothing_but_elf_errors(
    c_library: Compiled, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    layout = data.draw(st.sampled_from(["default", "one_segment"]))
    content = bytearray(c_library(layout).read_bytes())
    elf = read_elf(c_library(layout))
    # Most bytes are code; those that a reader looks at are drawn as often as all others together.
    tables = [(0, 64 + 56 * len(elf.segments)), (elf.section_header_offset, len(content))]
    tables += [
        (s.offset, s.end)
        for s in elf.sections
        if s.name.startswith((".eh", ".dyn", ".n", ".plt", ".rel"))
    ]
    for _ in range(data.draw(st.integers(1, 6))):
        low, high = data.draw(st.sampled_from([*tables, (0, len(content))]))
        if high - low < 8:
            continue
        offset = data.draw(st.integers(low, high - 8))
        value = data.draw(
            st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(content)])
            | st.integers(0, 2**64 - 1)
        )
        width = data.draw(st.sampled_from([1, 2, 4, 8]))
        content[offset : offset + width] = value.to_bytes(8, "little")[:width]
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    path = tmp_path_factory.mktemp("mutated") / "library.so"
    path.write_bytes(content)
    try:
        read_everything(path)
    except ElfError as error:
        assert str(path) in str(error)
    finally:
        path.unlink()


@pytest.mark.parametrize("field", [3, 4, 5])  # address, offset, size
def test_a_section_outside_the_address_space_is_refused(
    c_library: Compiled, tmp_path: Path, field: int
) -> None:
    path = tmp_path / "damaged.so"
    data = bytearray(c_library("default").read_bytes())
    at = int.from_bytes(data[0x28:0x30], "little") + 64 + 16 + 8 * (field - 3)
    data[at : at + 8] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(ElfError, match="section 1"):
        read_elf(path)
