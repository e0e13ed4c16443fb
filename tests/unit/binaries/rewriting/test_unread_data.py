import struct
from pathlib import Path

import numpy as np
import pytest
from example_libraries import compile_library, real_libraries
from hypothesis import given
from hypothesis import strategies as st

from trimtab.binaries.elf.dynamic_section import DT_GNU_HASH, read_dynamic_section
from trimtab.binaries.elf.format_rules import check_format
from trimtab.binaries.elf.headers import PF_W, PT_DYNAMIC
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.spans import REMOVED_DATA, SpanReason, Spans
from trimtab.binaries.rewriting.unread_data import may_leave, with_read, without_unread_data

PAGE = 4096
SOURCE = "const unsigned char archive[300000] __attribute__((aligned(4096))) = {1, [299999] = 2};"
FLAGS = ("-nostdlib", "-g0", "-Wl,--hash-style=gnu", "-Wl,-z,noseparate-code")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return compile_library(tmp_path / "a.so", SOURCE, *FLAGS)


def gone_of(elf: Elf) -> np.ndarray:
    spans = without_unread_data(elf, Spans(np.array([elf.size_bytes]), np.zeros(1, np.uint8)))
    return np.repeat(spans.reason == SpanReason.UNREAD_DATA, spans.end - spans.start)


def test_an_archive_goes_but_for_what_shares_its_pages(library: Path) -> None:
    elf = read_elf(library)
    gone, section = gone_of(elf), elf.section(".rodata")
    assert section and section.size == 300_000
    first, last = -(-section.offset // PAGE) * PAGE, section.end // PAGE * PAGE
    assert gone[first:last].all() and gone.sum() == last - first > 280_000


def test_a_library_with_code_keeps_its_data(tmp_path: Path) -> None:
    functions = "".join(f"int f{i}(int x) {{ return x * {i}; }}" for i in range(200))
    path = compile_library(
        tmp_path / "a.so", SOURCE + functions, "-nostdlib", "-falign-functions=16"
    )
    assert not gone_of(read_elf(path)).any()


@pytest.mark.parametrize("path", real_libraries(), ids=lambda path: path.name)
def test_what_may_leave_is_nobody_elses(path: Path) -> None:
    elf = read_elf(path)
    constants = [section for section in elf.sections if section.name in (".rodata", ".eh_frame")]
    may = np.zeros(elf.size_bytes, bool)
    for start, end in zip(*may_leave(elf, constants), strict=True):
        may[start:end] = True
    for section in elf.sections:
        if section not in constants:
            assert not may[section.offset : section.end].any(), section.name
    for start, end, what in check_format(elf):
        assert not may[start:end].any(), what
    for load in elf.loads:
        here = may[load.offset // PAGE * PAGE : -(-load.end // PAGE) * PAGE]
        assert not (load.flags & PF_W and here.any())
    assert may.any() or all(section.size < 2 * PAGE for section in constants)


def test_what_the_linker_reads_stays_wherever_it_lies(library: Path) -> None:
    """Its hash table within the archive, of which no section tells."""
    elf = read_elf(library)
    data = bytearray(library.read_bytes())
    table, archive = elf.section(".gnu.hash"), elf.section(".rodata")
    [dynamic] = [segment for segment in elf.segments if segment.type == PT_DYNAMIC]
    assert table and archive
    place = archive.offset + 20 * PAGE - 8  # over the end of a page
    data[place : place + table.size] = data[table.offset : table.end]
    entries = read_dynamic_section(elf).entries
    number = next(i for i, (tag, _) in enumerate(entries) if tag == DT_GNU_HASH)
    address = archive.address + place - archive.offset
    struct.pack_into("<Q", data, dynamic.offset + number * 16 + 8, address)
    library.write_bytes(data)
    gone = gone_of(read_elf(library))
    assert not gone[place : place + table.size].any() and gone.sum() > 270_000


intervals = st.lists(st.integers(1, 9 * PAGE), min_size=1, max_size=12, unique=True).map(sorted)


@given(intervals, st.data())
def test_pages_with_what_was_read_stay(ends: list[int], data: st.DataObject) -> None:
    reasons = st.sampled_from([SpanReason.DATA, SpanReason.UNUSED, *REMOVED_DATA])
    chosen = data.draw(st.lists(reasons, min_size=len(ends), max_size=len(ends)))
    offsets = data.draw(st.lists(st.integers(-1, 10 * PAGE), max_size=5))
    spans = Spans(np.array(ends, np.int64), np.array(chosen, np.uint8))
    expected = np.repeat(spans.reason, spans.end - spans.start)
    for offset in offsets:
        if 0 <= offset < ends[-1]:
            page = expected[offset // PAGE * PAGE :][:PAGE]
            page[np.isin(page, REMOVED_DATA)] = SpanReason.DATA
    result = with_read(spans, np.array(offsets, np.int64))
    assert np.array_equal(np.repeat(result.reason, result.end - result.start), expected)
