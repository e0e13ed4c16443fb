"""Constant data that left a library, unwind tables among it, and comes back when it is read."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from slim_example import compile_library, make_slim, run

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.spans import REMOVED_DATA, SpanReason
from trimtab.config.groups.debloat import Debloat, Fallback, Mode, Remove
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.located import Located, locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary, profiled_libraries
from trimtab.profiling.tracing.function_records import NO_FUNCTIONS
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.usage import Usage, UsedLibrary

# Every function has a handler and something to destroy, so that its unwind tables are long; with
# so many of them the tables take whole pages.
FUNCTIONS = 150
CXX_SOURCE = r"""
#include <execinfo.h>
#include <stdexcept>
#include <string>
#define FAR extern "C" __attribute__((noinline, aligned(4096)))
struct Counted {
  static int alive;
  int own;
  Counted(int x) : own(x) { alive++; }
  ~Counted() { alive--; }
};
int Counted::alive = 0;
FAR int used_alive() { return Counted::alive; }
FAR int thrown(int x) {
  Counted counted(x);
  if (x > 3) throw std::runtime_error("too large: " + std::to_string(x));
  return counted.own;
}
FAR int depth(int x) { void *frames[64]; Counted counted(x); return backtrace(frames, 64); }
""" + "\n".join(
    f"""FAR int through_{i}(int x) {{
  Counted counted(x);
  try {{ return thrown(x) + {i}; }}
  catch (const std::logic_error &error) {{ return {i}; }}
}}
FAR int caught_{i}(int x) {{
  try {{ return through_{i}(x); }}
  catch (const std::exception &error) {{ return -(int)std::string(error.what()).size() - {i}; }}
}}
FAR int deep_{i}(int x) {{ Counted counted(x); return depth(x) + 1000 * counted.own; }}"""
    for i in range(FUNCTIONS)
)  # fmt: skip
# A library of data: one archive, and a small table that a program may have copied.
DATA_BYTES = 3 << 20
DATA_SOURCE = f"""
__asm__(".section .rodata\\n.balign 4096\\n.globl archive\\n.type archive, @object\\n"
        "archive:\\n.set i, 0\\n.rept {DATA_BYTES // 8}\\n.quad i * 0x9e3779b97f4a7c15\\n"
        ".set i, i + 1\\n.endr\\n.size archive, . - archive\\n.previous\\n");
const int small[2048] __attribute__((aligned(4096))) = {{[5] = 55, [2047] = 77}};
"""
WORD = 0x9E3779B97F4A7C15


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("origin")
    (prefix / "lib").mkdir()
    compile_library(prefix / "lib/libmine.so", CXX_SOURCE)
    compile_library(prefix / "lib/libarchive.so", DATA_SOURCE)
    return prefix


@pytest.fixture(scope="module")
def environment(origin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_slim(origin, tmp_path_factory.mktemp("slim"))


def located(
    path: Path, *used: str, data: list[int] | None = None, goes: bool = True, **options: object
) -> Located:
    elf = read_elf(path)
    names = function_names(elf)
    starts = [int(at) for at in read_functions(elf).start]
    addresses = np.array([at for at in starts if names.of(at) in used], np.int64)
    read = np.array(data or [], np.int64)
    library = ProfiledLibrary(
        "lib/a.so",
        path,
        elf.build_id,
        elf.size_bytes,
        addresses,
        "",
        used_data=read,
        data_goes=goes,
    )
    return locate_used(library, Debloat(name="x", remove=Remove.CODE, **options), GpuScope())  # type: ignore[arg-type]


def section(elf: Elf, name: str) -> slice:
    found = elf.section(name)
    assert found
    return slice(found.offset, found.end)


def gone(result: Located) -> np.ndarray:
    spans = result.spans
    return np.repeat(np.isin(spans.reason, REMOVED_DATA), spans.end - spans.start)


@pytest.mark.parametrize("number", [0, 17, FUNCTIONS // 2, FUNCTIONS - 1])
def test_an_exception_passes_a_function_that_came_back(
    origin: Path, environment: Path, tmp_path: Path, number: int
) -> None:
    """Its description and exception table come back when the unwinder reads them."""
    program = f"print(mine.caught_{number}(1), mine.caught_{number}(7), mine.used_alive())"
    done = run(environment, tmp_path / "record", program)
    said = -len("too large: 7") - number
    assert (done.returncode, done.stdout.split()) == (0, [str(1 + number), str(said), "0"])
    elf = read_elf(origin / "lib/libmine.so")
    missed = read_removed_calls(tmp_path / "record")
    offsets = elf.offsets_of(np.array([call.address for call in missed if not call.name]))
    tables = [section(elf, name) for name in (".eh_frame", ".gcc_except_table")]
    assert offsets.size and all(
        any(table.start // 4096 <= at // 4096 <= table.stop // 4096 for table in tables)
        for at in offsets.tolist()
    )
    assert {"thrown", f"through_{number}"} <= {call.name for call in missed}


def test_a_backtrace_passes_a_function_that_came_back(
    origin: Path, environment: Path, tmp_path: Path
) -> None:
    whole = origin / "lib/libmine.so"
    program = f"whole = ctypes.CDLL({str(whole)!r})\n"
    program += f"print(*(lib.deep_{FUNCTIONS - 9}(1) - 1000 for lib in (mine, whole)))"
    done = run(environment, tmp_path / "record", program)
    frames, expected = map(int, done.stdout.split())
    assert frames == expected > 5, done.stderr


def test_unwind_tables_of_unused_functions_go(origin: Path) -> None:
    path = origin / "lib/libmine.so"
    elf = read_elf(path)
    result = located(path, "caught_5", "through_5", "thrown")
    reasons = gone(result)
    for name in (".eh_frame", ".gcc_except_table"):
        here = section(elf, name)
        # All but the pages at either end, and those with what is used.
        assert reasons[here].sum() >= here.stop - here.start - 4 * 4096, name
    nothing = located(path, *(function_names(elf).of(int(at)) for at in read_functions(elf).start))
    assert not gone(nothing).any()


@pytest.mark.parametrize(
    "options", [{"mode": Mode.ZERO}, {"mode": Mode.PUNCH}, {"fallback": Fallback.NONE}]
)
def test_data_stays_where_it_does_not_come_back(origin: Path, options: dict[str, object]) -> None:
    for name in ("libmine.so", "libarchive.so"):
        assert not gone(located(origin / "lib" / name, "used_alive", **options)).any()


def test_data_stays_of_what_others_load(origin: Path) -> None:
    """Programs to which it would not come back, or of which no run told what they read."""
    path = origin / "lib/libarchive.so"
    assert gone(located(path)).any() and not gone(located(path, goes=False)).any()
    elf = read_elf(path)
    for why, goes in {"": True, NO_FUNCTIONS: True, "no program was traced": False}.items():
        used = UsedLibrary(str(path), elf.build_id, elf.size_bytes, not why, why, 0, 0)
        usage = Usage(workload="w", command=["x"], complete=True, libraries=[used])
        [library] = profiled_libraries([usage], origin)
        assert library.data_goes == goes


READ = f"""
archive = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libarchive.so"))
words = (ctypes.c_uint64 * {DATA_BYTES // 8}).in_dll(archive, "archive")
for at in (0, 1, 70_000, 70_001, {DATA_BYTES // 8 - 1}):
    assert words[at] == at * {WORD} % (1 << 64), at
print((ctypes.c_int * 2048).in_dll(archive, "small")[2047], flush=True)
"""


def test_data_that_was_not_read_comes_back(origin: Path, environment: Path, tmp_path: Path) -> None:
    whole, slim = origin / "lib/libarchive.so", environment / "lib/libarchive.so"
    assert slim.stat().st_size < whole.stat().st_size - DATA_BYTES + (64 << 10)
    done = run(environment, tmp_path / "record", READ)
    assert (done.returncode, done.stdout) == (0, "77\n"), done.stderr
    archive = read_elf(whole).section(".rodata")
    assert archive
    missed = read_removed_calls(tmp_path / "record")
    # A page each, and nothing for the small table.
    assert len({call.address // 4096 for call in missed}) == len(missed) == 3
    # What was read is kept, and no more.
    result = located(whole, data=[call.address for call in missed])
    before = located(whole)
    kept = gone(before).sum() - gone(result).sum()
    assert 3 * 4096 - 8192 < kept <= 3 * 4096
    spans = result.spans
    assert spans.bytes_of(SpanReason.UNREAD_DATA) > DATA_BYTES - (64 << 10)


def test_all_of_it_comes_back_as_it_was(origin: Path, environment: Path, tmp_path: Path) -> None:
    program = READ + "sys.stdout.buffer.write(bytes(words))"
    command = [environment / "bin/python", "-c", f"import ctypes, os, sys\n{program}"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    expected = np.arange(DATA_BYTES // 8, dtype=np.uint64) * np.uint64(WORD)
    assert done.stdout.endswith(expected.tobytes())


def test_a_strict_program_is_told_of_data(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path / "record", READ, "strict")
    assert done.returncode == 70 and done.stderr.startswith(
        "trimtab: data in libarchive.so (address 0x"
    )


def test_a_variable_that_a_program_copied_stays(
    environment: Path, origin: Path, tmp_path: Path
) -> None:
    """The dynamic linker copies it before anything could come back."""
    source = "#include <stdio.h>\nextern const int small[2048];\n"
    source += 'int main(void) { printf("%d %d\\n", small[5], small[2047]); return 0; }\n'
    program = tmp_path / "program"
    libraries = [f"-L{origin / 'lib'}", "-larchive"]
    subprocess.run(
        ["gcc", "-x", "c", "-", "-no-pie", "-fno-pic", *libraries, "-o", program],
        input=source, text=True, check=True,
    )  # fmt: skip
    listed = subprocess.run(["readelf", "-rW", program], capture_output=True, text=True, check=True)
    assert "R_X86_64_COPY" in listed.stdout
    done = subprocess.run(
        [program], env={"LD_LIBRARY_PATH": str(environment / "lib")}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "55 77\n")


def test_a_system_call_with_what_is_away_fails(environment: Path, tmp_path: Path) -> None:
    """The kernel does not ask for it: docs/methods/fallback.md tells of that."""
    program = (
        READ.split("for at")[0]
        + """
address, null = ctypes.addressof(words) + (1 << 20), os.open("/dev/shm", os.O_RDWR | os.O_TMPFILE)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.write(null, ctypes.c_void_p(address), 8), ctypes.get_errno())
words[(1 << 17)]
print(libc.write(null, ctypes.c_void_p(address), 8))
"""
    )
    done = run(environment, tmp_path / "record", program)
    assert (done.returncode, done.stdout) == (0, "-1 14\n8\n"), done.stderr
