import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from example_libraries import (
    FUNCTIONS,
    LAYOUTS,
    PACKAGES,
    compile_library,
    functions_expected,
    marks,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PAGE_BYTES, PROGRAM_HEADER
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.compact import MINIMUM_HOLE_BYTES, Mode, RewriteResult, rewrite
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans
from trimtab.errors import TrimtabError, UserError

Compiled = Callable[[str], Path]
MODES: list[Mode] = ["zero", "punch", "compact"]
KEPT = [0, 1, 7, 20, 21, 22, 40, 63]


def slimmed(
    path: Path,
    destination: Path,
    mode: Mode,
    used: Callable[[Elf], np.ndarray],
    keep_symbols: bool = False,
    minimum: int = PAGE_BYTES,
) -> RewriteResult:
    elf = read_elf(path)
    spans = locate(elf, read_functions(elf), used(elf), keep_symbols)
    before = path.read_bytes()
    result = rewrite(elf, spans, mode, destination, minimum)
    assert path.read_bytes() == before
    assert result.kept_bytes + result.removed_bytes == result.size_before_bytes == len(before)
    assert result.kept_bytes + result.overhead_bytes == result.size_after_bytes
    assert result.size_after_bytes == destination.stat().st_size
    assert_kept_bytes_are_at_their_addresses(elf, spans, read_elf(destination))
    return result


def assert_kept_bytes_are_at_their_addresses(elf: Elf, spans: Spans, slim: Elf) -> None:
    """What the loader would map is compared, byte by byte, at every kept address."""
    kept = np.repeat(spans.kept, spans.end - spans.start)
    # Headers are written anew.
    for start, end in ((0, 64), (64, 64 + 56 * len(elf.segments))):
        kept[start:end] = False
    kept[elf.section_header_offset :][: 64 * len(elf.sections)] = False
    for load in elf.loads:
        offsets = np.flatnonzero(kept[load.offset : load.end]) + load.offset
        moved = slim.offsets_of(offsets - load.offset + load.address)
        assert np.all(moved >= 0)
        assert np.array_equal(elf.data[offsets], slim.data[moved])


def some(elf: Elf) -> np.ndarray:
    names = [f"function_{i}" for i in KEPT]
    needed = ("state", "construct", "resolve", "chosen_implementation")
    by_name = marks(elf, read_functions(elf), *names, *needed)
    unwanted = marks(elf, read_functions(elf), *(f"function_{i}" for i in range(FUNCTIONS)))
    return by_name | ~unwanted


def everything(elf: Elf) -> np.ndarray:
    return np.ones(len(read_functions(elf)), bool)


def in_process(path: Path, code: str, *more: Path) -> subprocess.CompletedProcess[str]:
    """Load the library in a process of its own: a crash fails one test, not all."""
    program = f"import ctypes, os, sys\nlibrary = ctypes.CDLL(sys.argv[1], os.RTLD_NOW)\n{code}"
    command = [sys.executable, "-c", program, str(path), *map(str, more)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


CALL_KEPT = f"""
print(library.state(), library.state(), [library.by_ifunc()], end=" ")
print([library[f"function_{{i}}"](9) for i in {KEPT}])
"""


# state() adds up 11 + 7 + 5 + 100 + 42 + 1000, and one more for the second call in a thread.
EXPECTED = f"1165 1166 [42] {[functions_expected(i, 9) for i in KEPT]}\n"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - {"stripped"}))
def test_a_slim_library_works(c_library: Compiled, tmp_path: Path, layout: str, mode: Mode) -> None:
    path = tmp_path / "slim.so"
    result = slimmed(c_library(layout), path, mode, some)
    run = in_process(path, CALL_KEPT)
    assert (run.stdout, run.returncode) == (EXPECTED, 0), run.stderr
    if mode == "compact":
        assert result.holes > 3
        assert result.size_after_bytes < 0.7 * result.size_before_bytes
        assert all(load.alignment == PAGE_BYTES for load in read_elf(path).loads[1:])
    else:
        assert result.size_after_bytes == result.size_before_bytes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_keeping_every_function_keeps_the_library_whole(
    c_library: Compiled, tmp_path: Path, layout: str, mode: Mode
) -> None:
    path = tmp_path / "slim.so"
    slimmed(c_library(layout), path, mode, everything)
    run = in_process(path, CALL_KEPT)
    assert (run.stdout, run.returncode) == (EXPECTED, 0), run.stderr


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", [*LAYOUTS, "no_sections"])
def test_what_was_appended_stays_at_the_end(
    c_library: Compiled, tmp_path: Path, layout: str, mode: Mode
) -> None:
    """Programs look from the end of the file for what was put there, as for a ZIP archive."""
    path, slim = tmp_path / "library.so", tmp_path / "slim.so"
    content = c_library("default" if layout == "no_sections" else layout).read_bytes()
    if layout == "no_sections":
        end = max(segment.end for segment in read_elf(c_library("default")).segments)
        content = content[:40] + bytes(8) + content[48:58] + b"\x40" + bytes(5) + content[64:end]
    trailer = b"PAYLOAD:" + b"0123456789" * 1000 + bytes(5000) + b":END" + bytes(3)
    path.write_bytes(content + trailer)
    used = everything if layout in ("stripped", "no_sections") else some
    result = slimmed(path, slim, mode, used)
    assert slim.read_bytes().endswith(trailer)
    assert result.holes == 0 or slim.read_bytes().count(b"PAYLOAD:") == 1
    subprocess.run(["readelf", "-aW", slim], check=True, capture_output=True)
    run = in_process(slim, CALL_KEPT)
    assert (run.stdout, run.returncode) == (EXPECTED, 0), run.stderr


def test_calls_into_removed_code_fault(c_library: Compiled, tmp_path: Path) -> None:
    for mode, expected in (("compact", {signal.SIGSEGV}), ("zero", {signal.SIGTRAP})):
        slimmed(c_library("default"), tmp_path / "slim.so", mode, some)
        run = in_process(tmp_path / "slim.so", "library.function_50(1)")
        assert -run.returncode in expected, mode


def test_headers_that_nobody_maps(c_library: Compiled, tmp_path: Path) -> None:
    """Their segment goes where it holds nothing else; the library works as before."""
    path = tmp_path / "slim.so"
    slimmed(c_library("default"), path, "compact", some)
    elf = read_elf(path)
    table = elf.program_header_offset
    number = next(i for i, s in enumerate(elf.segments) if s in elf.loads and s.offset == table)
    with path.open("r+b") as file:
        for more, unmapped in ((-8, 0), (8, 1)):
            file.seek(table + number * PROGRAM_HEADER.size)
            segment = read_elf(path).segments[number]
            file.write(replace(segment, file_bytes=segment.file_bytes + more).pack())
            file.flush()
            unmap_headers(path)
            assert len(read_elf(path).loads) == len(elf.loads) - unmapped
    run = in_process(path, CALL_KEPT)
    assert (run.stdout, run.returncode) == (EXPECTED, 0), run.stderr


def test_exceptions_pass_through_a_slim_library(cxx_library: Path, tmp_path: Path) -> None:
    def used(elf: Elf) -> np.ndarray:
        removed = [f"function_{i}" for i in range(32) if i != 9]
        return ~marks(elf, read_functions(elf), *removed)

    for mode in MODES:
        result = slimmed(cxx_library, tmp_path / "slim.so", mode, used)
        assert result.holes > 0 or mode == "zero"
        code = "print([library.caught(x) for x in (1, 4, 44)], library.alive())"
        run = in_process(tmp_path / "slim.so", code)
        assert run.stdout == "[1, -12, -13] 0\n", run.stderr


def test_holes_are_not_mapped(c_library: Compiled, tmp_path: Path) -> None:
    slimmed(c_library("default"), tmp_path / "slim.so", "compact", some)
    code = """
import re
base = int(next(l for l in open("/proc/self/maps") if "slim.so" in l).split("-")[0], 16)
for l in open("/proc/self/maps"):
    low, high, rights = re.match("(\\\\w+)-(\\\\w+) (....)", l).groups()
    print(int(low, 16) - base, int(high, 16) - base, rights)
"""
    run = in_process(tmp_path / "slim.so", code)
    areas = [line.split() for line in run.stdout.splitlines()]
    elf, slim = read_elf(c_library("default")), read_elf(tmp_path / "slim.so")
    functions = read_functions(elf)
    gone = slim.offsets_of(functions.start.astype(np.int64)) < 0
    assert gone.sum() > 30
    for address in functions.start[gone].tolist():
        rights = [r for low, high, r in areas if int(low) <= address < int(high)]
        assert rights in ([], ["---p"])


def test_whoever_reads_gpu_code_that_left_faults(tmp_path: Path) -> None:
    """So it can be put back: zeros would be taken for another answer."""
    source = """
    static const volatile char image[1 << 18] __attribute__((aligned(4096))) = {7, [1 << 17] = 9};
    int begins(void) { return image[0]; }
    int last_half(void) {
      int s = 0;
      for (int i = sizeof image / 2; i < sizeof image; i++) s += image[i];
      return s;
    }
    """  # the table of program headers may take the first pages
    for layout in ("default", "one_segment", "gold"):
        library = compile_library(tmp_path / f"lib{layout}.so", source, *LAYOUTS[layout])
        elf = read_elf(library)
        offset = int(elf.data.tobytes().index(b"\7" + bytes((1 << 17) - 1) + b"\11"))
        functions = read_functions(elf)
        spans = locate(elf, functions, np.ones(len(functions), bool), keep_symbols=False)
        canvas = Canvas(spans.end, spans.reason)
        canvas.paint(np.array([offset]), np.array([offset + (1 << 18)]), SpanReason.GPU_UNUSED)
        slim = tmp_path / "slim.so"
        result = rewrite(elf, Spans(canvas.end, canvas.reason), "compact", slim)
        assert result.size_after_bytes < elf.size_bytes - (1 << 17)
        assert in_process(slim, "library.last_half()").returncode == -signal.SIGSEGV
        assert read_elf(slim).segments


TOOLS = [
    ["readelf", "-lSdnsVW"],
    ["readelf", "--debug-dump=frames-interp"],
    ["nm", "-D"],
    ["objdump", "-d", "-j", ".text"],
    ["objdump", "-hpTR"],
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("keep_symbols", [False, True])
@pytest.mark.parametrize("layout", ["default", "one_segment", "gold"])
def test_tools_read_a_slim_library(
    c_library: Compiled, tmp_path: Path, layout: str, mode: Mode, keep_symbols: bool
) -> None:
    path = tmp_path / "slim.so"
    slimmed(c_library(layout), path, mode, some, keep_symbols)
    for command in TOOLS:
        run = subprocess.run([*command, path], capture_output=True, text=True)
        assert (run.stderr, run.returncode) == ("", 0), command
    original = subprocess.run(["nm", "-D", c_library(layout)], capture_output=True, text=True)
    assert subprocess.run(["nm", "-D", path], capture_output=True, text=True).stdout == (
        original.stdout
    )
    symbols = subprocess.run(["nm", path], capture_output=True, text=True).stdout
    assert ("function_50" in symbols) == keep_symbols
    if keep_symbols:
        lines = subprocess.run(
            ["addr2line", "-fe", path, "--", hex(address_of(path, "function_20"))],
            capture_output=True,
            text=True,
        )
        assert lines.stdout.startswith("function_20")
    disassembly = subprocess.run(["objdump", "-d", path], capture_output=True, text=True).stdout
    address = address_of(path, "function_20")
    assert re.search(rf"{address:x}:\t.*imul +\$0x16", disassembly)


def address_of(path: Path, name: str) -> int:
    listing = subprocess.run(["nm", "-D", path], capture_output=True, text=True).stdout
    return next(int(row.split()[0], 16) for row in listing.splitlines() if row.endswith(name))


def test_sections_keep_their_indexes_and_describe_bytes_in_the_file(
    c_library: Compiled, tmp_path: Path
) -> None:
    path = tmp_path / "slim.so"
    slimmed(c_library("default"), path, "compact", some)
    elf, slim = read_elf(c_library("default")), read_elf(path)
    for before, after in zip(elf.sections, slim.sections, strict=False):
        assert after.name in (before.name, "")
    appended = slim.sections[len(elf.sections) :]
    assert appended and {section.name for section in appended} == {".text"}
    for section in appended:
        assert slim.offsets_of(np.array([section.address]))[0] == section.offset
    with path.open("rb") as file:
        assert ELFFile(file).get_section_by_name(".symtab") is None


def test_zero_and_punch_fill_with_traps_and_zeros(c_library: Compiled, tmp_path: Path) -> None:
    elf = read_elf(c_library("default"))
    spans = locate(elf, read_functions(elf), some(elf), keep_symbols=False)
    reasons = np.repeat(spans.reason, spans.end - spans.start)
    rewrite(elf, spans, "zero", tmp_path / "zero.so")
    zero = np.frombuffer((tmp_path / "zero.so").read_bytes(), np.uint8)
    assert set(zero[reasons == SpanReason.UNUSED].tolist()) == {0xCC}
    assert set(zero[reasons == SpanReason.SYMBOLS].tolist()) == {0}
    rewrite(elf, spans, "punch", tmp_path / "punch.so")
    punched = np.frombuffer((tmp_path / "punch.so").read_bytes(), np.uint8)
    kept = np.repeat(spans.kept, spans.end - spans.start)
    assert np.array_equal(zero[kept], punched[kept])
    for page in range(0, elf.size_bytes, PAGE_BYTES):
        here = slice(page, page + PAGE_BYTES)
        expected = zero[here] if kept[here].any() else 0
        assert np.all(punched[here] == expected)
    allocated = [(tmp_path / name).stat().st_blocks for name in ("zero.so", "punch.so")]
    assert allocated[1] < allocated[0]
    rewrite(elf, spans, "zero", tmp_path / "filled.so", fill=0x5A)
    filled = np.frombuffer((tmp_path / "filled.so").read_bytes(), np.uint8)
    assert set(filled[~kept].tolist()) == {0x5A}


def test_small_holes_are_kept(c_library: Compiled, tmp_path: Path) -> None:
    sizes = []
    for minimum in (PAGE_BYTES, 4 * PAGE_BYTES, MINIMUM_HOLE_BYTES, 1 << 30):
        result = slimmed(
            c_library("default"), tmp_path / "slim.so", "compact", some, minimum=minimum
        )
        sizes.append((result.size_after_bytes, -result.holes))
        assert in_process(tmp_path / "slim.so", CALL_KEPT).stdout == EXPECTED
    assert sizes == sorted(sizes) and sizes[-1][1] == 0


def test_the_strictest_alignment_is_kept(tmp_path: Path) -> None:
    source = "\n".join(f"int function_{i}(int x) {{ return x + {i}; }}" for i in range(40)) + (
        "\n__attribute__((aligned(65536))) int placed[4] = {1};\n"
        "int misplaced(void) { return (unsigned long)placed % 65536; }\n"
    )
    path, slim = tmp_path / "library.so", tmp_path / "slim.so"
    command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-O1", "-falign-functions=4096"]
    subprocess.run([*command, "-o", str(path)], input=source, text=True, check=True)
    names = [f"function_{i}" for i in range(40)]
    result = slimmed(path, slim, "compact", lambda elf: ~marks(elf, read_functions(elf), *names))
    assert result.holes
    assert max(load.alignment for load in read_elf(slim).loads) == 65536
    code = "print([library.misplaced()] + [ctypes.CDLL(p).misplaced() for p in sys.argv[2:]])"
    copies = []
    for number in range(5):
        copies.append(tmp_path / f"copy{number}.so")
        copies[-1].write_bytes(slim.read_bytes())
    assert in_process(slim, code, *copies).stdout == f"{[0] * 6}\n"


def test_an_executable_still_starts(tmp_path: Path) -> None:
    functions = "\n".join(f"int function_{i}(int x) {{ return x + {i}; }}" for i in range(80))
    source = functions + (
        "\n#include <stdio.h>\n#include <sys/auxv.h>\n#include <link.h>\n"
        "int main(void) { const ElfW(Phdr) *table = (void *)getauxval(AT_PHDR);\n"
        'printf("%d %d\\n", function_3(4), table->p_type); return 0; }'
    )
    path, slim = tmp_path / "program", tmp_path / "slim"
    command = ["gcc", "-x", "c", "-", "-O1", "-falign-functions=4096", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)
    names = [f"function_{i}" for i in range(80) if i != 3]
    slimmed(path, slim, "compact", lambda elf: ~marks(elf, read_functions(elf), *names))
    assert subprocess.run([slim], capture_output=True, text=True, check=True).stdout == "7 6\n"


def test_permissions_are_the_source_s(c_library: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    path.write_bytes(c_library("default").read_bytes())
    path.chmod(0o550)
    slimmed(path, tmp_path / "slim.so", "compact", some)
    assert stat.S_IMODE((tmp_path / "slim.so").stat().st_mode) == 0o550


def test_the_source_is_never_the_destination(c_library: Compiled, tmp_path: Path) -> None:
    elf = read_elf(c_library("default"))
    spans = locate(elf, read_functions(elf), some(elf), keep_symbols=False)
    link = tmp_path / "link.so"
    link.symlink_to(elf.path)
    for destination in (elf.path, link):
        with pytest.raises(UserError, match="overwrite its source"):
            rewrite(elf, spans, "zero", destination)


def test_spans_of_another_file_change_nothing(c_library: Compiled, tmp_path: Path) -> None:
    elf, other = read_elf(c_library("default")), read_elf(c_library("huge_pages"))
    spans = locate(other, read_functions(other), some(other), keep_symbols=False)
    with pytest.raises(UserError, match="tile"):
        rewrite(elf, spans, "compact", tmp_path / "slim.so")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing(c_library: Compiled, tmp_path: Path) -> None:
    slim = tmp_path / "slim.so"
    slim.write_bytes(b"as it was")
    code = f"""
import resource, sys, signal
from pathlib import Path
import numpy as np
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.compact import rewrite
elf = read_elf(Path({str(c_library("default"))!r}))
functions = read_functions(elf)
spans = locate(elf, functions, np.ones(len(functions), bool), True)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try: rewrite(elf, spans, "compact", Path({str(slim)!r}))
except OSError as error: sys.exit(error.errno)
"""
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ}, timeout=60)
    assert run.returncode == 27  # EFBIG
    assert slim.read_bytes() == b"as it was" and list(tmp_path.iterdir()) == [slim]


@pytest.mark.parametrize("mode", MODES)
def test_bytes_add_up_for_libraries_of_packages(tmp_path: Path, mode: Mode) -> None:
    libraries = [p for p in (PACKAGES / "numpy").rglob("*.so") if not p.is_symlink()]
    libraries += sorted((PACKAGES / "torch/lib").glob("lib[cs]*.so"))
    generator = np.random.default_rng(7)

    def half(elf: Elf) -> np.ndarray:
        runs = generator.random(len(read_functions(elf)) // 30 + 1) < 0.5
        return np.repeat(runs, 30)[: len(read_functions(elf))]

    for path in libraries:
        slim = tmp_path / "slim.so"
        slimmed(path, slim, mode, half)
        assert read_elf(slim).build_id == read_elf(path).build_id
        if mode == "compact":
            checked = subprocess.run(["readelf", "-lSdW", slim], capture_output=True, text=True)
            assert checked.stderr == "", path


def test_a_real_library_works_with_holes(tmp_path: Path) -> None:
    def used(elf: Elf) -> np.ndarray:
        """All but LAPACK, which a scalar product does without."""
        names = function_names(elf)
        found = [names.of(int(address)) or "" for address in read_functions(elf).start]
        return np.array(
            [not re.match("scipy_(LAPACKE_|[sdcz](ge|sy|he|tr|tg)).*64_", n) for n in found]
        )

    path = next((PACKAGES / "numpy.libs").glob("libscipy_openblas64_-*.so"))
    for other in path.parent.iterdir():
        if other != path:
            (tmp_path / other.name).symlink_to(other)
    assert slimmed(path, tmp_path / "slim.so", "compact", used).holes > 50
    code = """
numbers = (ctypes.c_double * 3)(1, 2, 3)
library.scipy_cblas_ddot64_.restype = ctypes.c_double
print(library.scipy_cblas_ddot64_(3, numbers, 1, numbers, 1))
"""
    run = in_process(tmp_path / "slim.so", code)
    assert run.stdout == "14.0\n", run.stderr


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_hostile_headers_raise_nothing_but_our_errors(
    c_library: Compiled, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    source = read_elf(c_library("default"))
    content = bytearray(source.data.tobytes())
    for _ in range(data.draw(st.integers(1, 4))):
        table = data.draw(st.sampled_from([0, source.section_header_offset]))
        length = 64 * len(source.sections) if table else 64 + 56 * len(source.segments)
        offset = table + data.draw(st.integers(0, length - 8))
        value = data.draw(st.sampled_from([0, 1, 0x1000, 0x20000, 2**32 - 1, 2**63]))
        content[offset : offset + 4] = value.to_bytes(8, "little")[:4]
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "library.so").write_bytes(content)
    try:
        elf = read_elf(folder / "library.so")
        functions = read_functions(elf)
        spans = locate(elf, functions, np.arange(len(functions)) % 16 == 0, False)
        for mode in MODES:
            rewrite(elf, spans, mode, folder / f"{mode}.so", PAGE_BYTES)
    except TrimtabError:
        pass
