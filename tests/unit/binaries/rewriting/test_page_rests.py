"""What a page shows behind the end of its segment: machine code may read it, and finds the same."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from example_libraries import marks

from trimtab.binaries.elf.format_rules import format_violation
from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import (
    HEADER,
    PAGE_BYTES,
    PF_W,
    SHF_ALLOC,
)
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.read_back import WrittenWronglyError, read_back
from trimtab.binaries.rewriting.whole_pages import whole_pages

# Nothing of it is in .bss, as the rest of such a page becomes zeros.
SOURCE = """
extern const char etext[] __attribute__((visibility("hidden")));
extern const char edata[] __attribute__((visibility("hidden")));
const char room[64 * 64] = {1};
int data[3] = {1, 2, 3};
unsigned rest(int of_data) {
  const char *at = of_data ? edata : etext;
  unsigned sum = 1;
  for (; (unsigned long)at % 4096; at++) sum = sum * 31 + *(volatile const unsigned char *)at;
  return sum;
}
""" + "\n".join(
    f"__attribute__((aligned(4096))) int unused_{i}(int x) {{ return x + {i}; }}" for i in range(9)
)
GAP_BYTES = 3 * PAGE_BYTES
LAYOUTS = {
    "default": [],
    "one_segment": ["-Wl,-z,noseparate-code"],
    "gold": ["-fuse-ld=gold"],
    "stripped": ["-s"],
}
CALL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print(library.rest(0), library.rest(1))
"""


def build(path: Path, *flags: str) -> Path:
    command = ["gcc", "-O1", "-g", "-shared", "-fPIC", "-nostartfiles", "-x", "c", "-", *flags]
    subprocess.run([*command, "-o", str(path)], input=SOURCE, text=True, check=True)
    return path


def ending_with_a_segment(path: Path) -> None:
    """Let the file end where its last segment does, as patchelf and NVIDIA's tools have it.

    The headers of what is loaded move into `room`, and pages of zeros come before that segment.
    """
    elf, data = read_elf(path), bytearray(path.read_bytes())
    room, last = data.index(b"\1" + bytes(64 * 64 - 1)), elf.loads[-1]
    assert last.memory_bytes == last.file_bytes

    def moved(offset: int) -> int:
        return offset + GAP_BYTES * (last.offset <= offset)

    loaded = [s for s in elf.sections if not s.type or s.flags & SHF_ALLOC]
    table = b"".join(replace(s, offset=moved(s.offset)).pack() for s in loaded)
    data[room : room + len(table)] = table
    segments = b"".join(replace(s, offset=moved(s.offset)).pack() for s in elf.segments)
    data[elf.program_header_offset : elf.program_header_offset + len(segments)] = segments
    fields = list(HEADER.unpack(data[: HEADER.size]))
    fields[6], fields[12], fields[13] = room, len(loaded), 0
    data[: HEADER.size] = HEADER.pack(*fields)
    gap = bytes(moved(last.offset) - elf.loads[-2].end)
    path.write_bytes(data[: elf.loads[-2].end] + gap + data[last.offset : last.end])


def rests_of(path: Path) -> str:
    command = [sys.executable, "-c", CALL, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("mode", ["zero", "punch", "compact"])
@pytest.mark.parametrize("layout", [*LAYOUTS, "ends_with_a_segment", "and_keeps_all_code"])
def test_code_reads_what_it_read(tmp_path: Path, layout: str, mode: str) -> None:
    path, slim = build(tmp_path / "a.so", *LAYOUTS.get(layout, [])), tmp_path / "slim.so"
    if layout not in LAYOUTS:
        ending_with_a_segment(path)
    elf = read_elf(path)
    assert format_violation(elf) == ""
    functions = read_functions(elf)
    used = marks(elf, functions, "rest") | (layout == "and_keeps_all_code")
    spans = locate(elf, functions, used, keep_symbols=False)
    spans = whole_pages(elf, spans, PAGE_BYTES, mode == "zero")
    assert spans.removed_bytes
    rewrite(elf, spans, mode, slim, PAGE_BYTES)  # type: ignore[arg-type]
    if mode == "compact":
        unmap_headers(slim)
    read_back(slim, elf, spans)
    assert rests_of(slim) == rests_of(path)


def test_another_rest_is_found(tmp_path: Path) -> None:
    path, slim = build(tmp_path / "a.so"), tmp_path / "slim.so"
    ending_with_a_segment(path)
    elf = read_elf(path)
    spans = locate(elf, functions := read_functions(elf), marks(elf, functions, "rest"), False)
    rewrite(elf, spans, "compact", slim, PAGE_BYTES)
    [last] = [load for load in read_elf(slim).loads if load.flags & PF_W]
    with slim.open("r+b") as file:
        file.seek(last.end)
        file.write(b"\1")
    with pytest.raises(WrittenWronglyError, match="other bytes"):
        read_back(slim, elf, spans)
