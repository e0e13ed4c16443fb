"""Which libraries are debloated, and how their bytes add up."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.relations.resolvers import resolvers
from trimtab.config.groups.debloat import Debloat, Remove, Symbols
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.file_size import size_of
from trimtab.debloating.libraries.located import locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary, profiled_libraries
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.records.usage import Usage, UsedLibrary

PREFIX = Path(sys.prefix)


def extension() -> Path:
    return next((PREFIX / "lib").rglob("markupsafe/_speedups*.so")).resolve()


def usage(path: Path, used: list[int], traced: bool = True) -> Usage:
    elf = read_elf(path)
    library = UsedLibrary(
        path=str(path), build_id=elf.build_id, size_bytes=elf.size_bytes,
        sha256=sha256_of(path), traced=traced,
        not_traced_because="" if traced else "text relocations", functions_total=9,
        functions_used=len(used), used_functions=used,
    )  # fmt: skip
    return Usage(workload="w", command=["python"], complete=True, libraries=[library])


def test_the_union_over_workloads_is_kept() -> None:
    starts = [int(start) for start in read_functions(read_elf(extension())).start]
    [target] = profiled_libraries(
        [usage(extension(), starts[:2]), usage(extension(), starts[1:3])], PREFIX
    )
    assert target.used.tolist() == starts[:3]
    located = locate_used(target, Debloat(name="x", remove=Remove.CODE), GpuScope())
    assert located.functions_used == 3


def test_libraries_outside_the_environment_are_left_out(tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    copy.write_bytes(extension().read_bytes())
    assert profiled_libraries([usage(copy, [])], PREFIX) == []
    assert [t.name for t in profiled_libraries([usage(copy, [])], tmp_path)] == ["copy.so"]


def test_a_changed_library_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    copy.write_bytes(extension().read_bytes())
    record = usage(copy, [])
    copy.write_bytes(copy.read_bytes() + b"more")
    with pytest.raises(UserError, match="not the file that was profiled"):
        profiled_libraries([record], tmp_path)


def test_an_untraced_library_keeps_all_its_code() -> None:
    [target] = profiled_libraries([usage(extension(), [], traced=False)], PREFIX)
    located = locate_used(
        target, Debloat(name="x", remove=Remove.CODE, symbols=Symbols.KEEP), GpuScope()
    )
    assert located.function_bytes_kept == located.function_bytes_total
    assert located.functions_used == located.functions_total > 0


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_kept_function_bytes_against_a_plain_count(share: float) -> None:
    """A second implementation: byte by byte over the file."""
    elf = read_elf(extension())
    functions = read_functions(elf)
    chosen = np.random.default_rng(7).random(len(functions)) < share
    target = ProfiledLibrary("x", extension(), elf.build_id, elf.size_bytes,
                    functions.start[chosen].astype(np.int64), "")  # fmt: skip
    located = locate_used(target, Debloat(name="x", remove=Remove.CODE), GpuScope())
    kept = np.zeros(elf.size_bytes, bool)
    for start, end, stays in zip(
        located.spans.start, located.spans.end, located.spans.kept, strict=True
    ):
        kept[start:end] = stays
    offsets = elf.offsets_of(functions.start.astype(np.int64))
    expected = sum(
        int(kept[offset : offset + int(size)].sum())
        for offset, size in zip(offsets, functions.size, strict=True)
    )
    assert located.function_bytes_kept == expected
    if share == 1.0:
        assert expected == located.function_bytes_total
    assert replace(target, why_not="x") != target


def test_sizes(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(10_000_000)
    size = size_of(path)
    assert size.length_bytes == 10_000_000
    assert size.disk_bytes == 0
    assert 0 < size.compressed_bytes < 20_000


CHOOSING = """
int unused(int x) { return x + 1; }
static int one(int x) { return x + 2; }
int helper(void);
static int (*choose(void))(int) { return helper() ? one : unused; }
int by_ifunc(int x) __attribute__((ifunc("choose")));
int helper(void) { return 1; }
"""


def test_what_the_dynamic_linker_calls_to_choose_a_function_stays(tmp_path: Path) -> None:
    """A program that was not traced may refer to it; nothing can come back while it is linked."""
    path = tmp_path / "libchoosing.so"
    options = ["-shared", "-fPIC", "-O1", "-fno-inline", "-fvisibility=protected"]
    subprocess.run(
        ["gcc", "-x", "c", "-", "-o", path, *options], input=CHOOSING, text=True, check=True
    )
    [target] = profiled_libraries([usage(path, [])], tmp_path)
    functions = read_functions(read_elf(path))
    chosen = resolvers(read_elf(path), functions)
    assert chosen.sum() == 1
    located = locate_used(target, Debloat(name="x", remove=Remove.CODE), GpuScope())
    assert 1 <= located.functions_used < len(functions)
