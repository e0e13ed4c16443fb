"""The index of removed files is read back as it was written, by Python and by the fallback's C."""

import importlib.util
import os
import random
import subprocess
from dataclasses import replace
from pathlib import Path
from posixpath import dirname

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.debloating.file_index.layout import (
    BLOCK_ENTRIES,
    DIGEST_BYTES,
    EntryKind,
    IndexEntry,
    hash_of,
    text_filter,
)
from trimtab.debloating.file_index.reading import entries_of, paths_of
from trimtab.debloating.file_index.writing import index_of
from trimtab.errors import UserError

FUZZ_TARGET = Path(__file__).parents[3] / "fuzz/targets/file_index.py"
NAMES = st.one_of(
    st.sampled_from(["__init__.py", "a", "A", "a.so.1.2", ".hidden", "x.cpython-311.pyc"]),
    st.text("ab.-", min_size=1, max_size=6),
    st.binary(min_size=1, max_size=255).map(os.fsdecode),
).filter(lambda name: not {"/", "\0"} & {*name} and name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
NUMBERS = st.integers(0, (1 << 32) - 1)


@st.composite
def trees(draw: st.DrawFn) -> list[IndexEntry]:
    """Entries of any kind, in any order, at paths of their own."""
    paths = draw(st.lists(PATHS, unique=True, max_size=3 * BLOCK_ENTRIES))
    numbers = random.Random(draw(st.integers(0, 1000)))
    times = [draw(st.integers(-(1 << 62), 1 << 62)), 10**18, 10**18 + 10**9]
    few = [(draw(NUMBERS), draw(NUMBERS), draw(NUMBERS)) for _ in range(2)]
    entries = []
    for path in paths:
        kind = numbers.choice(list(EntryKind))
        entry = IndexEntry(path, kind, *numbers.choice(few), numbers.choice(times))
        if kind == EntryKind.REGULAR:
            digest, size = numbers.randbytes(DIGEST_BYTES), numbers.choice([0, 127, 128, 1 << 50])
            others = {path, *numbers.sample(paths, min(2, len(paths)))}
            names = tuple(sorted(others - {path})) if numbers.random() < 0.2 else ()
            entry = replace(entry, size_bytes=size, digest=digest, names=names)
        elif kind == EntryKind.LINK:
            entry = replace(entry, target=draw(st.text("ab/.", min_size=1, max_size=300)))
        if numbers.random() < 0.2:
            entry = replace(entry, needs=tuple(numbers.sample(paths, min(3, len(paths)))))
        entries.append(entry)
    return entries


def by_path(entries: list[IndexEntry]) -> list[IndexEntry]:
    return sorted(entries, key=lambda entry: os.fsencode(entry.path))


@settings(max_examples=60, deadline=None)
@given(tree=trees())
def test_what_is_written_is_read(tree: list[IndexEntry]) -> None:
    index = index_of(tree, 1, "", [])
    read = entries_of(index)
    assert by_path(read) == by_path(tree)
    assert paths_of(index) == [entry.path for entry in read]
    assert index_of(reversed(tree), 1, "", []) == index
    folders = [dirname(entry.path) for entry in read]
    runs = [folder for place, folder in enumerate(folders) if folder not in folders[:place]]
    assert folders == sorted(folders, key=runs.index)  # each folder is one run


@pytest.fixture(scope="module")
def reader() -> Path:
    spec = importlib.util.spec_from_file_location("fuzzed_file_index", FUZZ_TARGET)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Path(module.READER)


def read_by_c(reader: Path, index: bytes, folder: Path) -> list[str]:
    (folder / "trimtab").mkdir(exist_ok=True)
    (folder / "trimtab/files.index").write_bytes(index)
    command = [reader, folder, "all ways"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def line_of(entry: IndexEntry) -> str:
    second, ns = divmod(entry.modified_ns, 10**9)
    numbers = (entry.kind, entry.mode, entry.user, entry.group, second, ns, entry.size_bytes)
    texts = (os.fsencode(entry.path), entry.digest, os.fsencode(entry.target))
    others = [*texts, *map(os.fsencode, entry.names)]
    needs = [f"needs x{os.fsencode(need).hex()}" for need in entry.needs]
    return " ".join(
        [*(str(int(number)) for number in numbers), *(f"x{text.hex()}" for text in others), *needs]
    )


@settings(max_examples=25, deadline=None)
@given(tree=trees())
def test_c_reads_the_same(
    reader: Path, tmp_path_factory: pytest.TempPathFactory, tree: list[IndexEntry]
) -> None:
    index = index_of(tree, 1, "", [])
    folder = tmp_path_factory.mktemp("environment")
    assert read_by_c(reader, index, folder) == [line_of(entry) for entry in entries_of(index)]


def test_a_large_folder_and_deep_ones(reader: Path, tmp_path: Path) -> None:
    """Names of a folder over many blocks are found, and those of many folders in one block."""
    names = [f"{number:04}{'x' * (number % 7)}" for number in range(900)]
    flat = [IndexEntry(f"lib/{name}", EntryKind.FOLDER) for name in names]
    deep = [IndexEntry("d/" * number + "e", EntryKind.LINK, target="t") for number in range(60)]
    index = index_of(flat + deep, 0, "/original", [])
    assert read_by_c(reader, index, tmp_path) == [line_of(entry) for entry in entries_of(index)]


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0), bit=st.integers(0, 7), cut=st.booleans())
def test_no_bit_of_it_can_change(at: int, bit: int, cut: bool) -> None:
    tree = [IndexEntry(f"a/{number}", EntryKind.REGULAR, size_bytes=number) for number in range(20)]
    index = bytearray(index_of(tree, 1, "http://store", ["a"]))
    at %= len(index)
    if cut:
        del index[at:]
    else:
        index[at] ^= 1 << bit
    with pytest.raises(ValueError, match="a damaged index of removed files"):
        entries_of(bytes(index))


@given(data=st.binary(max_size=200))
def test_what_is_no_index(data: bytes) -> None:
    with pytest.raises(ValueError, match="a damaged index of removed files"):
        entries_of(data)


def test_an_entry_takes_little() -> None:
    """Python packages with byte code of one time: their paths alone have 50 bytes each."""
    numbers = random.Random(1)
    tree = []
    for package in range(60):
        for module in range(16):
            name = f"lib/python3.11/site-packages/package{package}/"
            stem = f"{numbers.choice(['core', 'util', 'test', 'base'])}_{module}"
            for path in (f"{name}{stem}.py", f"{name}__pycache__/{stem}.cpython-311.pyc"):
                digest = numbers.randbytes(DIGEST_BYTES)
                size = numbers.randrange(50_000)
                tree.append(IndexEntry(path, EntryKind.REGULAR, 0o644, 0, 0, 10**18, size, digest))
    size_bytes = len(index_of(tree, 1, "", []))
    assert (size_bytes - 4096) / len(tree) < 33


@given(names=st.sets(NAMES, max_size=60))
def test_the_filter_passes_what_it_has_to(names: set[str]) -> None:
    words = text_filter(names)
    assert len(words) & (len(words) - 1) == 0
    assert all(_passes(words, name) for name in names)


def test_the_filter_passes_little_else() -> None:
    words = text_filter(map(str, range(10_000)))
    others = sum(_passes(words, f"other{number}") for number in range(10_000))
    assert others < 500 and len(words) * 8 <= 20_000


def _passes(words: list[int], name: str) -> bool:
    mixed = hash_of(os.fsencode(name)) * 0x9E3779B97F4A7C15 % (1 << 64)
    word = words[(mixed >> 32) % len(words)]
    return all(word >> (mixed >> shift & 63) & 1 for shift in (0, 6, 12, 18))


@pytest.mark.parametrize(
    ("entry", "location"),
    [
        (IndexEntry("a/" * 2048 + "b", EntryKind.FOLDER), ""),
        (IndexEntry("a", EntryKind.LINK, target="x" * 4096), ""),
        (IndexEntry("n" * 256, EntryKind.FOLDER), ""),
        (IndexEntry("a", EntryKind.FOLDER), "/" + "x" * 4028),
    ],
)
def test_what_is_too_long(entry: IndexEntry, location: str) -> None:
    with pytest.raises(UserError):
        index_of([entry], 1, location, [])
