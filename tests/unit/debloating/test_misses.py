"""What was missed becomes used code of the library as it is, and of no other."""

import shutil
import subprocess
from pathlib import Path

import pytest

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.debloating.misses import learn, learned_misses, with_misses
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
