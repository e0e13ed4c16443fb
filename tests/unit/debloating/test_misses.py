"""What was missed becomes used code of the library as it is, and of no other."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.debloating.misses import learn, learned_misses, named, with_misses
from trimtab.errors import UserError
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.usage import Usage, UsedLibrary

NAME = "lib/libmine.so"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    source = tmp_path / "mine.c"
    source.write_text("int data[99]; int f(int x) { return x * 3; } int g(int x) { return -x; }")
    (tmp_path / "lib").mkdir()
    command = ["gcc", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o", tmp_path / NAME, source]
    subprocess.run(command, check=True)
    return tmp_path


def usage(*libraries: Path) -> Usage:
    return Usage(
        workload="w", command=["x"], complete=True,
        libraries=[UsedLibrary(str(path), None, 1, True, "", 9, 0, []) for path in libraries],
    )  # fmt: skip


def call(address: int, library: str = NAME) -> RemovedCall:
    return RemovedCall(library, address, "", 1)


def functions(root: Path) -> list[tuple[int, int]]:
    found = read_functions(read_elf(root / NAME))
    return list(zip(found.start.tolist(), found.size.tolist(), strict=True))


def test_an_address_is_its_function_or_data(root: Path) -> None:
    (first, size), *_, (last, last_size) = functions(root)
    data = last + last_size + (1 << 20)
    missed = [call(first + size - 1), call(last), call(data), call(1), call(5, "lib/other.so")]
    other, mine = with_misses([usage(root / "no"), usage(root / NAME)], root, missed)
    assert other == usage(root / "no")
    [library] = mine.libraries
    assert library.used_functions == [first, last] and library.functions_used == 2
    assert library.used_data == [1, data]


def test_what_was_used_stays_used(root: Path) -> None:
    (first, _), *_, (last, _) = functions(root)
    known = with_misses([usage(root / NAME)], root, [call(last)])
    [again] = with_misses(known, root, [call(first)])
    assert again.libraries[0].used_functions == [first, last]


def test_learning_adds_up_and_forgets_what_was_replaced(root: Path) -> None:
    path = root / "learned.json"
    assert learned_misses(path, root) == []
    assert learn(path, "t", root, [call(1), call(2), call(1)]) == 2
    assert learn(path, "t", root, [call(2), call(3)]) == 1
    assert [miss.address for miss in learned_misses(path, root)] == [1, 2, 3]
    shutil.copy("/bin/true", root / NAME)
    assert learned_misses(path, root) == []
    assert learn(path, "t", root, [call(9)]) == 1
    assert [miss.address for miss in learned_misses(path, root)] == [9]
    (root / NAME).unlink()
    assert learned_misses(path, root) == []


def test_a_record_of_another_environment_is_refused(root: Path) -> None:
    with pytest.raises(UserError, match=r"lib/nowhere\.so: missing; was this recorded in another"):
        learn(root / "learned.json", "t", root, [call(1), call(1, "lib/nowhere.so")])
    assert not (root / "learned.json").exists()


@pytest.fixture
def nameless(root: Path) -> Path:
    """A library in which a local function without a symbol lies behind one that has one."""
    source = root / "nameless.c"
    source.write_text(
        "static __attribute__((noinline)) int local(int x) { return x * 7 - 1; }\n"
        "const int table[2000] = {5};\n"
        "int do_x(int x) { return local(x) + table[x]; }\n"
    )
    command = ["gcc", "-O1", "-shared", "-fPIC", "-fno-toplevel-reorder", "-Wl,-s"]
    subprocess.run([*command, "-o", root / NAME, source], check=True)
    return root


def test_what_has_no_name_is_told_by_what_it_lies_behind(nameless: Path) -> None:
    elf = read_elf(nameless / NAME)
    names = function_names(elf)
    do_x = next(at for at, _ in functions(nameless) if names.of(at) == "do_x")
    table = elf.section(".rodata")
    assert table
    [code, early, data, own, elsewhere] = named(
        [
            call(do_x + 0x10),
            call(do_x - 4),  # nothing with a name is before it
            call(table.address + 0x1000),
            replace(call(do_x), name="do_x"),
            call(7, "lib/other.so"),
        ],
        nameless,
    )
    assert str(code) == f"{NAME}: behind do_x (+0x10)"
    assert str(early) == f"{NAME}: {do_x - 4:#x}"
    assert str(data) == f"{NAME}: behind .rodata (+0x1000)"
    assert str(own) == f"{NAME}: do_x"
    assert str(elsewhere) == "lib/other.so: 0x7"


def test_a_library_that_cannot_be_read_gives_no_names(root: Path) -> None:
    (root / NAME).write_bytes(b"\x7fELF" + bytes(60))
    assert named([call(9)], root) == [call(9)]
