"""What a used function calls directly is kept with it, on code whose calls are known."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from example_libraries import marks

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.relations.calls import with_called
from trimtab.binaries.relations.code import Code

SOURCE = r"""
#define APART __attribute__((noinline, noclone, visibility("hidden")))
volatile int sink;
APART void last(void) { sink += 3; }
APART void callee(void) { sink += 2; last(); sink += 4; }
APART void stranger(void) { sink += 9; }
APART void by_pointer(void) { sink += 11; }
void (*volatile table[])(void) = {by_pointer, stranger};
__attribute__((noinline)) void caller(int x) { if (x) callee(); table[x & 1](); sink++; }
__attribute__((noinline)) void tail(void) { last(); }
__attribute__((noinline)) void visible(void) { sink += 5; stranger(); }
__attribute__((noinline)) void through_stub(void) { visible(); sink += 6; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    (folder / "calls.c").write_text(SOURCE)
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", "libcalls.so", "calls.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "libcalls.so"


def reached(library: Path, *used: str) -> set[str]:
    elf = read_elf(library)
    functions, names = read_functions(elf), function_names(elf)
    result = with_called(Code.of(elf, functions), marks(elf, functions, *used))
    return {names.of(int(start)) or "" for start in functions.start[result]}


def test_direct_calls_are_followed_and_pointers_are_not(library: Path) -> None:
    assert reached(library, "caller") == {"caller", "callee", "last"}


def test_a_tail_call_is_a_jump(library: Path) -> None:
    assert reached(library, "tail") == {"tail", "last"}


@pytest.mark.parametrize("options", [[], ["-Wl,-z,now"], ["-fcf-protection"], ["-fno-plt"]])
def test_calls_through_the_librarys_own_stubs_and_slots(
    library: Path, tmp_path: Path, options: list[str]
) -> None:
    source = library.with_name("calls.c")
    output = tmp_path / "libcalls.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", *options, "-o", output, source], check=True)
    assert reached(output, "through_stub") == {"through_stub", "visible", "stranger"}


def test_nothing_used_reaches_nothing(library: Path) -> None:
    assert reached(library) == set()


def test_against_a_disassembler_on_a_real_library() -> None:
    """Every direct call that objdump decodes in a used function is among the reached ones."""
    path = next(Path(np.__file__).parent.rglob("_multiarray_umath*.so"))
    elf = read_elf(path)
    functions = read_functions(elf)
    used = np.zeros(len(functions), bool)
    used[np.random.default_rng(3).choice(len(functions), 40, replace=False)] = True
    result = with_called(Code.of(elf, functions), used)
    assert np.all(result[used])
    for index in np.flatnonzero(used):
        start, size = int(functions.start[index]), int(functions.size[index])
        listing = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", f"--start-address={start}",
             f"--stop-address={start + size}", path],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        for line in listing.splitlines():
            words = line.split()
            if len(words) >= 3 and words[1] in ("call", "jmp", "jne", "je"):
                try:
                    target = int(words[2], 16)
                except ValueError:
                    continue
                at = int(functions.start.searchsorted(target))
                if at < len(functions) and int(functions.start[at]) == target:
                    assert result[at], f"{line} is not followed"
