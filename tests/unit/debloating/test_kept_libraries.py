"""Libraries that are left as they are: named by a pattern, or as they check themselves."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from trimtab.cli import workspace
from trimtab.cli.program_options import ProgramOptions
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.errors import UserError
from trimtab.profiling.self_checking import find_self_checking
from trimtab.profiling.tracing.function_records import LEFT_ALONE
from trimtab.records.misses.settling import Settling

# With COUNT functions that nothing calls; sum() is of the code as it is in memory, as a library
# that checks its integrity adds it up, and file_sum() of the file that holds it.
LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#define PAGES __attribute__((noinline, aligned(4096)))
PAGES int used(int x) { return x * 3 + 1; }
PAGES int other(int x) { __asm__ volatile(".fill 65536, 1, 0x90"); return x + 2; }
PAGES int last(int x) { return x - 5; }
__attribute__((visibility("default"))) unsigned sum(void) {
  unsigned total = 0;
  for (const unsigned char *at = (void *)used; at < (unsigned char *)last; at++)
    total = total * 31 + *at;
  return total;
}
unsigned file_sum(void) {
  Dl_info self;
  unsigned total = 0;
  dladdr((void *)used, &self);
  FILE *file = fopen(self.dli_fname, "rb");
  for (int byte; (byte = getc(file)) != EOF;) total = total * 31 + (unsigned)byte;
  fclose(file);
  return total;
}
"""
PROGRAM = """
import ctypes, os, sys
libraries = [ctypes.CDLL(os.path.join(sys.prefix, f"lib/lib{i}.so")) for i in range(5)]
print([library.used(2) for library in libraries])
if len(sys.argv) > 1:
    found = str(getattr(libraries[int(sys.argv[2])], sys.argv[1])())
    expected = os.path.join(os.path.dirname(__file__), sys.argv[1])
    if not os.path.exists(expected):
        open(expected, "w").write(found)
    sys.exit(open(expected).read() != found)
"""


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("left_alone") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    for i in range(5):
        command = ["gcc", "-O1", "-g", "-fno-toplevel-reorder", "-shared", "-fPIC", "-xc", "-"]
        output = ["-o", prefix / f"lib/lib{i}.so"]
        subprocess.run([*command, *output], input=LIBRARY.encode(), check=True)
    return prefix


def debloated(venv: Path, folder: Path, *words: str, settle: int = 0, **options: object) -> Path:
    """Trace the program and make its slim environment."""
    (folder / "program.py").write_text(PROGRAM)
    command = [str(venv / "bin/python"), str(folder / "program.py"), *words]
    chosen = Debloat(name="x", **{"remove": Remove.CODE, **options})  # type: ignore[arg-type]
    space = folder / "workspace"
    workspace.trace(space, command, ProgramOptions(ends_with="0"), 1, chosen.keep_libraries)
    nothing = lambda *_: None  # noqa: E731
    workspace.debloat(space, chosen, [], settle, nothing, nothing)
    return space


def unchanged(venv: Path, space: Path) -> list[int]:
    libraries = [f"lib/lib{i}.so" for i in range(5)]
    return [
        i
        for i, name in enumerate(libraries)
        if (space / "env" / name).read_bytes() == (venv / name).read_bytes()
    ]


def test_a_named_library_is_not_touched(venv: Path, tmp_path: Path) -> None:
    space = debloated(venv, tmp_path, "sum", "3", keep_libraries=["lib/lib[13].so"])
    assert unchanged(venv, space) == [1, 3]
    assert '"not_traced_because": "' + LEFT_ALONE in (space / "usage.json").read_text()


def test_a_library_that_sums_its_code_is_found(venv: Path, tmp_path: Path) -> None:
    space = debloated(venv, tmp_path, "sum", "3")
    assert unchanged(venv, space) == [3]
    assert "checks its own code" in (space / "usage.json").read_text()


def test_a_library_that_sums_its_file_is_found(venv: Path, tmp_path: Path) -> None:
    for _ in range(2):
        space = debloated(venv, tmp_path, "file_sum", "3", settle=1)
        assert unchanged(venv, space) == [3]
        settling = Settling.read(space / "settling.json")
        assert settling.settled and settling.left_alone == ["lib/lib3.so"]


def test_a_named_library_that_nobody_loads_is_not_touched(venv: Path, tmp_path: Path) -> None:
    packages = next((venv / "lib").glob("python3*/site-packages"))
    for name in ("named.so", "other.so"):
        (packages / name).write_bytes((venv / "lib/lib0.so").read_bytes())
    chosen = {"remove": Remove.LIBRARIES, "keep_libraries": ["**/named.so"]}
    space = debloated(venv, tmp_path, **chosen)
    before = (packages / "named.so").read_bytes()
    after = space / "env" / packages.relative_to(venv)
    assert (after / "named.so").read_bytes() == before != (after / "other.so").read_bytes()


def test_a_named_file_that_nobody_used_goes(venv: Path, tmp_path: Path) -> None:
    (venv / "lib/unused.so").write_bytes((venv / "lib/lib0.so").read_bytes())
    space = debloated(venv, tmp_path, remove=Remove.FILES, keep_libraries=["lib/unused.so"])
    assert not (space / "env/lib/unused.so").exists()


def test_a_pattern_has_to_match(venv: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"keep_libraries: 'lib/libx\.so' given"):
        debloated(venv, tmp_path, keep_libraries=["lib/libx.so"])


@pytest.mark.parametrize("checking", [{"3"}, {"0"}, {"199"}, {"7", "150"}])
def test_few_runs_find_it(checking: set[str]) -> None:
    tried = []

    def ends_well(alone: Sequence[str]) -> bool:
        tried.append(alone)
        return checking <= set(alone)

    candidates = [str(i) for i in range(200)]
    assert set(find_self_checking(candidates, ends_well)) == checking
    assert len(tried) <= 2 + 9 * len(checking)
    assert find_self_checking(candidates, lambda alone: False) == []
    assert find_self_checking(candidates, lambda alone: True) == []
