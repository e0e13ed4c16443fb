import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from example_libraries import LAYOUTS, PACKAGES, marks

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PAGE_BYTES
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.locate import LINKAGE_SECTIONS, locate
from trimtab.binaries.rewriting.spans import SpanReason, Spans

Compiled = Callable[[str], Path]


def reasons_by_byte(spans: Spans) -> np.ndarray:
    return np.repeat(spans.reason, spans.end - spans.start)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("keep_symbols", [False, True])
def test_every_byte_has_its_reason(c_library: Compiled, layout: str, keep_symbols: bool) -> None:
    elf = read_elf(c_library(layout))
    functions = read_functions(elf)
    used = marks(elf, functions, "function_3", "state")
    spans = locate(elf, functions, used, keep_symbols)
    spans.validate(elf.size_bytes)
    by_byte = reasons_by_byte(spans)
    text = elf.section(".text")
    assert text is not None
    offsets = elf.offsets_of(functions.start.astype(np.int64))
    for offset, size, mark in zip(offsets.tolist(), functions.size.tolist(), used, strict=True):
        if text.offset <= offset < text.end:
            expected = SpanReason.USED if mark else SpanReason.UNUSED
            assert set(by_byte[offset : offset + size].tolist()) == {expected}
    for section in elf.sections:
        found = set(by_byte[section.offset : section.end].tolist())
        if section.name in LINKAGE_SECTIONS and section.size:
            assert found == {SpanReason.LINKAGE}
        elif section.name in (".symtab", ".strtab", ".debug_info", ".comment"):
            # What shares a segment's last page is mapped with it, and stays.
            last = max(load.end for load in elf.loads)
            mapped = range(last, -(-last // PAGE_BYTES) * PAGE_BYTES)
            gone = [at for at in range(section.offset, section.end) if at not in mapped]
            expected = SpanReason.DATA if keep_symbols else SpanReason.SYMBOLS
            assert set(by_byte[gone].tolist()) <= {expected}
            assert found <= {expected, SpanReason.DATA}
        elif section.name not in (".text", "") and section.end > section.offset:
            assert found <= {SpanReason.DATA, SpanReason.SYMBOLS}
    assert set(by_byte[: 64 + 56 * len(elf.segments)].tolist()) == {SpanReason.DATA}
    assert set(by_byte[elf.section_header_offset :][: len(elf.sections) * 64]) == {SpanReason.DATA}
    data = elf.data[:]
    assert not np.any(data[by_byte == SpanReason.PADDING])


def test_gaps_before_unused_functions_go_with_them(c_library: Compiled) -> None:
    elf = read_elf(c_library("default"))
    functions = read_functions(elf)
    by_byte = reasons_by_byte(
        locate(elf, functions, marks(elf, functions, "function_10"), keep_symbols=False)
    )
    names = function_names(elf)
    at = {names.of(int(a)): int(elf.offsets_of(np.array([int(a)]))[0]) for a in functions.start}
    between = by_byte[at["function_11"] : at["function_30"]]
    assert set(between.tolist()) == {SpanReason.UNUSED}
    before_used = by_byte[at["function_10"] - 16 : at["function_10"]]
    assert set(before_used.tolist()) == {SpanReason.UNCOVERED}


def test_code_without_functions_stays(tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    source = """
    asm(".text\\n.globl by_hand\\n.balign 16\\nby_hand: mov $7, %eax\\n ret\\n"
        ".balign 64\\n.section .note.GNU-stack\\n");
    int covered(int x) { return x + 1; }
    """
    command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-O1", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)
    elf = read_elf(path)
    functions = read_functions(elf)
    spans = locate(elf, functions, np.zeros(len(functions), bool), keep_symbols=True)
    table = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    address = next(int(row.split()[0], 16) for row in table.splitlines() if "by_hand" in row)
    offset = int(elf.offsets_of(np.array([address]))[0])
    assert set(reasons_by_byte(spans)[offset : offset + 6].tolist()) == {SpanReason.UNCOVERED}


def test_data_behind_the_last_section_stays(c_library: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    original = c_library("default").read_bytes()
    path.write_bytes(original + bytes(3 << 20) + b"an archive" + bytes(5000))
    elf = read_elf(path)
    functions = read_functions(elf)
    spans = locate(elf, functions, np.zeros(len(functions), bool), keep_symbols=False)
    kept = np.repeat(spans.kept, spans.end - spans.start)
    archive = len(original) + (3 << 20)
    assert kept[archive : archive + 10].all()


def test_kept_and_removed_add_up_for_every_library_of_a_package() -> None:
    libraries = [p for p in (PACKAGES / "numpy").rglob("*.so") if not p.is_symlink()]
    assert len(libraries) > 15
    generator = np.random.default_rng(1)
    for path in libraries:
        elf = read_elf(path)
        functions = read_functions(elf)
        spans = locate(elf, functions, generator.random(len(functions)) < 0.3, False)
        spans.validate(path.stat().st_size)
        assert spans.kept_bytes + spans.removed_bytes == path.stat().st_size
        assert spans.bytes_of(SpanReason.UNUSED) > 0


def test_a_mask_of_another_length_is_refused(c_library: Compiled) -> None:
    elf = read_elf(c_library("default"))
    functions = read_functions(elf)
    with pytest.raises(ValueError, match="marks"):
        locate(elf, functions, np.zeros(3, bool), keep_symbols=False)
