import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
from example_libraries import compile_library, real_libraries

from trimtab.binaries.elf.format_rules import check_format
from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PT_GNU_EH_FRAME
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.errors import ElfError
from trimtab.binaries.relations.unwind_spans import without_unwind_tables
from trimtab.binaries.relations.unwind_tables import read_unwind_tables
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.spans import SpanReason, Spans

Row = tuple[int, int, int, int, int]


def described(path: Path) -> list[Row]:
    """What pyelftools reads: function, description, what it has in common, exception table."""
    elf = read_elf(path)
    section = elf.section(".eh_frame")
    assert section
    with path.open("rb") as file:
        entries = ELFFile(file).get_dwarf_info().EH_CFI_entries()
    return sorted(
        (
            entry.header["initial_location"],
            section.offset + entry.offset,
            section.offset + entry.offset + 4 + entry.header["length"],
            section.offset + entry.cie.offset,
            entry.lsda_pointer or 0,
        )
        for entry in entries
        if isinstance(entry, FDE)
    )


def read(path: Path) -> list[Row]:
    elf = read_elf(path)
    tables = read_unwind_tables(elf)
    exceptions = elf.addresses_of(tables.exceptions)
    return sorted(
        zip(
            elf.addresses_of(tables.function).tolist(),
            tables.start.tolist(),
            tables.end.tolist(),
            tables.common_start.tolist(),
            np.where(tables.exceptions >= 0, exceptions, 0).tolist(),
            strict=True,
        )
    )


def test_descriptions_equal_pyelftools(cxx_library: Path) -> None:
    rows = read(cxx_library)
    assert rows == described(cxx_library)
    assert sum(row[4] > 0 for row in rows) >= 2  # thrown and caught


@pytest.mark.parametrize("path", real_libraries()[1:4], ids=lambda path: path.name)
def test_descriptions_of_packages_equal_pyelftools(path: Path) -> None:
    assert read(path) == described(path)


def spans_of(elf: Elf, used: Callable[[int], bool]) -> Spans:
    functions = read_functions(elf)
    marks = np.array([used(number) for number in range(len(functions))])
    return without_unwind_tables(elf, locate(elf, functions, marks, keep_symbols=True))


def reasons_of(spans: Spans) -> np.ndarray:
    return np.repeat(spans.reason, spans.end - spans.start)


@pytest.fixture(scope="module")
def long_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With tables of several pages, of which two kinds of function have something in common."""
    source = "struct Own { ~Own(); }; void other();\n" + "\n".join(
        f'extern "C" int plain_{i}(int x) {{ return x - {i}; }}\n'
        f'extern "C" int guarded_{i}(int x) {{ Own own; other(); return x + {i}; }}'
        for i in range(250)
    )
    return compile_library(tmp_path_factory.mktemp("tables") / "cxx.so", source, "-g0")


@pytest.mark.parametrize("step", [1, 2, 3, 100, 300])
def test_what_a_kept_function_needs_stays(long_tables: Path, step: int) -> None:
    elf = read_elf(long_tables)
    tables = read_unwind_tables(elf)
    spans = spans_of(elf, lambda number: number % step == 7 % step)
    reasons = reasons_of(spans)
    gone = reasons == SpanReason.UNWIND_TABLES
    kept = reasons[tables.function] == SpanReason.USED
    assert kept.any()
    for low, high in ((tables.start, tables.end), (tables.common_start, tables.common_end)):
        for start, end in zip(low[kept].tolist(), high[kept].tolist(), strict=True):
            assert not gone[start:end].any()
    begins = np.sort(tables.exceptions[tables.exceptions >= 0])
    for start in tables.exceptions[kept & (tables.exceptions >= 0)].tolist():
        after = begins[begins > start]
        assert not gone[start : after[0] if after.size else start + 8].any()
    if step >= 100:
        assert gone.sum() > 3 * 4096


def test_only_unwind_tables_go(long_tables: Path) -> None:
    elf = read_elf(long_tables)
    gone = reasons_of(spans_of(elf, lambda number: number == 7)) == SpanReason.UNWIND_TABLES
    inside = np.zeros(elf.size_bytes, bool)
    for name in (".eh_frame", ".gcc_except_table"):
        section = elf.section(name)
        assert section
        inside[section.offset : section.end] = True
    believed = np.zeros(elf.size_bytes, bool)
    for start, end, _ in check_format(elf):
        believed[start:end] = True
    assert gone.any() and not (gone & ~inside).any() and not (gone & believed).any()


def test_a_writable_table_stays(long_tables: Path, tmp_path: Path) -> None:
    """Relocations may write to it, or the program."""
    path = tmp_path / "writable.so"
    flags = ["--set-section-flags", ".eh_frame=alloc,load,data,contents"]
    subprocess.run(["objcopy", *flags, long_tables, path], check=True)
    elf = read_elf(path)
    section = elf.section(".eh_frame")
    assert section
    # The program header is what counts.
    data = bytearray(path.read_bytes())
    for number, load in enumerate(elf.segments):
        if load.type == 1 and load.offset <= section.offset < load.end:
            data[elf.program_header_offset + number * 56 + 4] |= 2
    path.write_bytes(data)
    spans = spans_of(read_elf(path), lambda number: number == 7)
    assert not spans.bytes_of(SpanReason.UNWIND_TABLES)


def test_damaged_tables_are_read_within_the_file(long_tables: Path, tmp_path: Path) -> None:
    elf = read_elf(long_tables)
    tables, header = elf.section(".eh_frame"), elf.section(".eh_frame_hdr")
    assert tables and header and any(s.type == PT_GNU_EH_FRAME for s in elf.segments)
    generator = np.random.default_rng(3)
    whole = np.array(elf.data)
    path = tmp_path / "damaged.so"
    for section in (tables, header) * 20:
        damaged = whole.copy()
        at = generator.integers(section.offset + 12 * (section is header), section.end, 60)
        damaged[at] = generator.choice([0, 1, 0x7F, 0x80, 0xFF, 0x9B, 4], 60)
        path.write_bytes(damaged.tobytes())
        found = read_unwind_tables(read_elf(path))
        for low, high in ((found.start, found.end), (found.common_start, found.common_start + 4)):
            assert (low >= 0).all() and (high > low).all() and (high <= elf.size_bytes).all()
        assert (found.exceptions < elf.size_bytes).all() and (found.exceptions >= -1).all()
        functions = read_functions(read_elf(path))
        marks = np.arange(len(functions)) % 5 == 0
        located = locate(read_elf(path), functions, marks, True)
        try:
            spans = without_unwind_tables(read_elf(path), located)
        except ElfError:
            continue
        spans.validate(elf.size_bytes)
