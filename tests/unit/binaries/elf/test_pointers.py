"""Pointers that relocations fill, against readelf."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from example_libraries import real_libraries

from trimtab.binaries.elf.pointers import IMPORTED, read_pointers
from trimtab.binaries.elf.reader import read_elf

SOURCE = """
#include <stdlib.h>
int values[700];
int *few[] = {&values[3], 0, &values[5]};
static int *many[600];
int **const list[] = {many, many + 1, few};
#define TEN(x) x, x + 1, x + 2, x + 3, 0, x + 5, x + 6, x + 7, 0, x + 9
int *long_list[] = {TEN(values), TEN(values + 10), TEN(values + 20), TEN(values + 30),
                    TEN(values + 40), TEN(values + 50), TEN(values + 60), TEN(values + 70)};
void (*import)(void *) = free;
"""


def by_readelf(path: Path) -> dict[int, int]:
    listing = subprocess.run(
        ["readelf", "-rW", path], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for line in listing.splitlines():
        words = line.split()
        if len(words) < 4 or not words[2].startswith("R_X86_64_"):
            continue
        kind = words[2].removeprefix("R_X86_64_")
        if kind == "RELATIVE":
            found[int(words[0], 16)] = int(words[3], 16)
        elif kind in ("64", "GLOB_DAT", "JUMP_SLOT"):  # ... value name + addend
            value, addend = int(words[3], 16), int(words[-1], 16) if kind == "64" else 0
            if value:
                found[int(words[0], 16)] = value + addend
            elif not addend:
                found[int(words[0], 16)] = IMPORTED
    return found


@pytest.mark.parametrize("path", real_libraries(), ids=lambda path: path.name)
def test_against_readelf(path: Path) -> None:
    pointers = read_pointers(read_elf(path))
    expected = by_readelf(path)
    found = dict(zip(pointers.slot.tolist(), pointers.target.tolist(), strict=True))
    assert {k: v for k, v in expected.items() if found.get(k) != v} == {}
    assert np.all(np.diff(pointers.slot) > 0)


def test_packed_relocations_name_the_same_pointers(tmp_path: Path) -> None:
    """Linked at the same addresses or not: every pointer leads to the same word of the file."""
    lengths = []
    for name, option in (("plain", "-Wl,-z,nopack-relative-relocs"),
                         ("packed", "-Wl,-z,pack-relative-relocs")):  # fmt: skip
        path = tmp_path / f"{name}.so"
        command = ["gcc", "-shared", "-fPIC", "-fvisibility=hidden", "-x", "c", "-", option, "-o"]
        subprocess.run([*command, str(path)], input=SOURCE, text=True, check=True)
        elf = read_elf(path)
        assert (elf.section(".relr.dyn") is not None) == (name == "packed")
        pointers = read_pointers(elf)
        lengths.append(pointers.slot.size)
        own = np.flatnonzero(pointers.target != IMPORTED)
        steps = np.diff(pointers.slot[own])
        lengths.append(int((steps == 8).sum()))
        lengths.append(int((np.diff(pointers.target[own]) == 4).sum()))
    assert lengths[:3] == lengths[3:]
    assert lengths[0] > 64


def test_what_stands_nowhere_is_no_pointer(tmp_path: Path) -> None:
    pointers = read_pointers(read_elf(real_libraries()[0]))
    nowhere = np.array([-8, 0, 1 << 46], np.int64)
    assert pointers.index_of(nowhere).tolist() == [-1, -1, -1]
    assert pointers.behind(nowhere).size == 0
    assert pointers.behind(pointers.slot[:3]).tolist() == pointers.target[:3].tolist()
