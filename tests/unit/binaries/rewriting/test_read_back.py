"""A slim library that is not what was meant is found before anybody loads it."""

import ctypes
import re
import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_libraries import marks

from trimtab.binaries.elf import dynamic_section as dt
from trimtab.binaries.elf.format_rules import format_violation
from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import (
    PF_W,
    PROGRAM_HEADER,
    PT_DYNAMIC,
    PT_LOAD,
    PT_TLS,
    ProgramHeader,
)
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.elf.tables import SYMBOL, symbol_name, table_rows
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.dt_auxiliary import add_dt_auxiliary, linker_is_sound
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.read_back import read_back
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.located import locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.errors import TrimtabError

Compiled = Callable[[str], Path]
NAME = "$ORIGIN/../trimtab/lib.so"
PT_GNU_STACK = 0x6474E551


@pytest.fixture
def made(c_library: Compiled, tmp_path: Path) -> tuple[Path, Elf, Spans]:
    elf = read_elf(c_library("default"))
    functions = read_functions(elf)
    spans = locate(elf, functions, marks(elf, functions, "function_3", "state"), False)
    slim = tmp_path / "slim.so"
    rewrite(elf, spans, "compact", slim, 4096)
    unmap_headers(slim)
    return slim, elf, spans


def change(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def header_of(elf: Elf, index: int) -> int:
    return elf.program_header_offset + index * PROGRAM_HEADER.size


def code_byte(slim: Elf) -> int:
    load = next(s for s in slim.loads if s.flags == 5)
    return load.offset + 64


def test_what_was_written_passes(made: tuple[Path, Elf, Spans]) -> None:
    read_back(*made)
    if linker_is_sound():
        assert add_dt_auxiliary(made[0], made[1], NAME)
        read_back(*made, companion=NAME)


@pytest.mark.parametrize("layout", ["huge_pages", "one_segment", "bind_now", "gold", "stripped"])
@pytest.mark.parametrize("mode", ["zero", "punch", "compact"])
def test_every_layout_and_mode(c_library: Compiled, tmp_path: Path, layout: str, mode: str) -> None:
    elf = read_elf(c_library(layout))
    assert format_violation(elf) == ""
    functions = read_functions(elf)
    spans = locate(elf, functions, marks(elf, functions, "function_3"), False)
    rewrite(elf, spans, mode, tmp_path / "slim.so", 4096)  # type: ignore[arg-type]
    read_back(tmp_path / "slim.so", elf, spans)


BREAKS: dict[str, Callable[[Path, Elf], None]] = {
    "other bytes": lambda path, slim: change(path, code_byte(slim), b"\x01\x02\x03\x04"),
    "protects": lambda path, slim: change(
        path, header_of(slim, [s.type for s in slim.segments].index(PT_LOAD)) + 4, b"\7"
    ),
    "segments": lambda path, slim: change(
        path, header_of(slim, [s.type for s in slim.segments].index(PT_TLS)), b"\x37"
    ),
    "dynamic sections": lambda path, slim: change(
        path, header_of(slim, [s.type for s in slim.segments].index(PT_DYNAMIC)), b"\x37"
    ),
    "past the end": lambda path, slim: path.write_bytes(path.read_bytes()[:-9000]),
    "another header": lambda path, slim: change(path, 8, b"\3"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_what_is_wrong_is_found(made: tuple[Path, Elf, Spans], what: str) -> None:
    path, elf, spans = made
    BREAKS[what](path, read_elf(path))
    with pytest.raises(TrimtabError, match=f"{elf.path}: its slim library .*{what}"):
        read_back(path, elf, spans)
    assert not path.exists()


def test_kept_pages_that_are_missing(made: tuple[Path, Elf, Spans]) -> None:
    path, elf, spans = made
    unused = spans.reason == SpanReason.UNUSED
    more = np.where(unused, SpanReason.USED, spans.reason).astype(np.uint8)
    with pytest.raises(TrimtabError, match=r"(lacks kept|has other) bytes"):
        read_back(path, elf, replace(spans, reason=more))


def damaged(elf: Elf, tmp_path: Path, offset: int, data: bytes) -> Path:
    path = tmp_path / "damaged.so"
    path.write_bytes(elf.data.tobytes())
    change(path, offset, data)
    return path


def entry_of(elf: Elf, tag: int) -> int:
    """The file offset of a dynamic entry's value."""
    [segment] = [s for s in elf.segments if s.type == PT_DYNAMIC]
    tags = [found for found, _ in dt.read_dynamic_section(elf).entries]
    return segment.offset + tags.index(tag) * dt.ENTRY.size + 8


@pytest.mark.parametrize(
    ("tag", "value", "why"),
    [
        (dt.DT_SYMTAB, 0x7FFFFF000, "symbols at"),
        (dt.DT_GNU_HASH, 0x40, "hash"),
        (dt.DT_RELASZ, 25, "relocations of another size"),
        (dt.DT_RELA, 0, "over its headers|symbols|read-only"),
        (dt.DT_INIT, 0x10, "no code"),
        (dt.DT_INIT_ARRAY, 0x7FFFFF000, "constructors"),
        (dt.DT_VERSYM, 0x7FFFFF000, "versions at"),
        (dt.DT_VERNEED, 0x10, "version"),
    ],
)
def test_a_library_that_breaks_a_promise_is_left_as_it_is(
    c_library: Compiled, tmp_path: Path, tag: int, value: int, why: str
) -> None:
    good = read_elf(c_library("default"))
    path = damaged(good, tmp_path, entry_of(good, tag), struct.pack("<Q", value))
    library = ProfiledLibrary("a.so", path, None, path.stat().st_size, np.empty(0, np.int64), "")
    located = locate_used(library, Debloat(name="x", remove=Remove.CODE), GpuScope())
    assert re.search(f"left as it is: has .*({why})", located.spans.note), located.spans.note
    rewrite(located.elf, located.spans, "compact", tmp_path / "slim.so")
    assert (tmp_path / "slim.so").read_bytes() == path.read_bytes()
    read_back(tmp_path / "slim.so", located.elf, located.spans)


def test_relocations_that_write_into_code(c_library: Compiled, tmp_path: Path) -> None:
    good = read_elf(c_library("default"))
    values = dt.read_dynamic_section(good).values
    table = int(good.offsets_of(np.array([values[dt.DT_RELA]]))[0])
    code = next(s for s in good.loads if not s.flags & PF_W and s.address)
    path = damaged(good, tmp_path, table, struct.pack("<Q", code.address))
    assert "read-only" in format_violation(read_elf(path))


def test_a_companion_lets_nothing_behind_the_end_in(c_library: Compiled, tmp_path: Path) -> None:
    """An entry behind DT_NULL became part of the section when DT_NULL was replaced."""
    good = read_elf(c_library("default"))
    [segment] = [s for s in good.segments if s.type == PT_DYNAMIC]
    end = len(dt.read_dynamic_section(good).entries)
    behind = segment.offset + (end + 1) * dt.ENTRY.size
    path = damaged(good, tmp_path, behind, dt.ENTRY.pack(dt.DT_RELASZ, 7))
    elf, slim = read_elf(path), tmp_path / "slim.so"
    functions = read_functions(elf)
    spans = locate(elf, functions, marks(elf, functions, "function_3"), False)
    rewrite(elf, spans, "compact", slim, 4096)
    unmap_headers(slim)
    companion = NAME if add_dt_auxiliary(slim, elf, NAME) else ""
    read_back(slim, elf, spans, companion=companion)
    assert dt.read_dynamic_section(read_elf(slim)).values[dt.DT_RELASZ] != 7


def test_a_section_of_gpu_code_covers_what_is_left_of_it(tmp_path: Path) -> None:
    """Its header is that of all pieces, in the segments that they are in."""
    source = tmp_path / "gpu.c"
    source.write_text(
        '__asm__(".section .nv_fatbin,\\"a\\",@progbits\\n.balign 4096\\n.fill 131072, 1, 7\\n'
        '.text\\n");\nint one(void) { return 1; }\n'
    )
    command = ["gcc", "-shared", "-fPIC", "-Wl,-z,separate-code", "-o", tmp_path / "gpu.so", source]
    subprocess.run(command, check=True)
    elf = read_elf(tmp_path / "gpu.so")
    functions = read_functions(elf)
    spans = locate(elf, functions, np.ones(len(functions), bool), True)
    gpu = elf.section(".nv_fatbin")
    assert gpu is not None
    canvas = Canvas(spans.end, spans.reason)
    start = gpu.offset + np.array([1, 3]) * 32768  # every second quarter leaves
    canvas.paint(start, start + 32768, SpanReason.GPU_UNUSED)
    spans = replace(spans, end=canvas.end, reason=canvas.reason)
    slim = tmp_path / "slim.so"
    rewrite(elf, spans, "compact", slim, 4096)
    read_back(slim, elf, spans)
    assert slim.stat().st_size < elf.size_bytes - 50_000


@pytest.mark.parametrize("mode", ["zero", "punch", "compact"])
def test_a_library_that_is_not_started_needs_no_unwind_table(tmp_path: Path, mode: str) -> None:
    """What describes its functions leaves with them, and its slim library was refused for that."""
    path, slim = tmp_path / "table.so", tmp_path / "slim.so"
    text = "\n".join(f"int api_{i}(int x) {{ return x + {i}; }}" for i in range(900))
    command = ["gcc", "-O1", "-x", "c", "-", "-shared", "-fPIC", "-o", path]
    subprocess.run(command, input=text, text=True, check=True)
    library = ProfiledLibrary("a.so", path, None, path.stat().st_size, np.empty(0, np.int64), "")
    located = locate_used(
        library, Debloat(name="x", remove=Remove.CODE, start_up_only="remove"), GpuScope()
    )
    assert not located.started
    assert located.spans.bytes_of(SpanReason.START_UP_DATA) > 15_000
    rewrite(located.elf, located.spans, mode, slim, patches=located.patches)  # type: ignore[arg-type]
    if mode == "compact":
        unmap_headers(slim)
        assert slim.stat().st_size < path.stat().st_size - 15_000
    read_back(slim, located.elf, located.spans, located.patches)
    ctypes.CDLL(str(slim))


def test_a_segment_that_maps_nothing(c_library: Compiled, tmp_path: Path) -> None:
    """Its slim library has none, and takes the same addresses all the same."""
    good, slim = read_elf(c_library("default")), tmp_path / "slim.so"
    number = [segment.type for segment in good.segments].index(PT_GNU_STACK)
    end = good.loads[-1].address + good.loads[-1].memory_bytes
    empty = ProgramHeader(PT_LOAD, 4, 0, -(-end // 65536) * 65536, 0, 0, 0, 4096)
    path = damaged(good, tmp_path, header_of(good, number), empty.pack())
    elf = read_elf(path)
    unused = marks(elf, functions := read_functions(elf), *(f"function_{i}" for i in range(64)))
    spans = locate(elf, functions, ~unused, keep_symbols=False)
    rewrite(elf, spans, "compact", slim, 4096)
    unmap_headers(slim)
    read_back(slim, elf, spans)
    assert len(read_elf(slim).segments) > len(elf.segments)
    ctypes.CDLL(str(slim))


@pytest.mark.parametrize("visibility", [1, 2, 3])
def test_a_symbol_that_no_other_library_may_define(
    c_library: Compiled, tmp_path: Path, visibility: int
) -> None:
    """A call of it is one of the file's header, of which nobody promised how it reads."""
    good = read_elf(c_library("default"))
    section = good.section(".dynsym")
    assert section is not None
    names = [symbol_name(good, int(name)) for name in table_rows(good, ".dynsym", SYMBOL)["name"]]
    other = section.offset + names.index("__cxa_finalize") * 24 + 5
    path = damaged(good, tmp_path, other, bytes([visibility]))
    assert "symbols that nobody defines" in format_violation(read_elf(path))


def test_a_segment_that_asks_for_more_than_the_first_can(tmp_path: Path) -> None:
    """glibc loads it; that its alignment could not be kept ended the whole debloating."""
    path = tmp_path / "placed.so"
    command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-Wl,-Ttext-segment=0x1000", "-o", path]
    subprocess.run(
        command, input="int data = 1; int f(void) { return data; }", text=True, check=True
    )
    elf = read_elf(path)
    number, last = max((n, s) for n, s in enumerate(elf.segments) if s.type == PT_LOAD)
    assert (last.address - last.offset) % 0x2000 == 0 < elf.loads[0].address
    change(path, header_of(elf, number) + 48, struct.pack("<Q", 0x2000))
    ctypes.CDLL(str(path))
    assert "aligned to 0x2000" in format_violation(read_elf(path))
