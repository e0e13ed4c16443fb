"""What a record names is there, or the line is made up."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from trimtab.debloating.recorded_pieces import RecordedPieces
from trimtab.records.misses.record_lines import CallLine, FileCount, FileLine

PROGRAM = Path(sys.executable).resolve()


def call(library: str, address: int) -> CallLine:
    return CallLine(1, 1.5, library, address, "")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    shutil.copy(PROGRAM, root / "program")
    (root / "empty").touch()
    (root / "text").write_text("text")
    (root / "folder").mkdir()
    (root / "nowhere").symlink_to("missing")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize(
    ("name", "has"),
    [
        *((each, True) for each in ("program", "empty", "folder", "nowhere", "loop", "pipe")),
        ("none", False),
        ("program/below", False),
        ("loop/below", False),
        ("x" * 300, False),
    ],
)
def test_files(root: Path, name: str, has: bool) -> None:
    assert RecordedPieces(root).has(FileLine(1, 1.5, name, "file")) == has


@pytest.mark.parametrize(
    "name",
    ["none", "empty", "text", "folder", "nowhere", "loop", "loop/below", "pipe", "x" * 300],
)
@pytest.mark.timeout(20)
def test_no_library_has_a_function(root: Path, name: str) -> None:
    pieces = RecordedPieces(root)
    assert not pieces.has(call(name, 0x1000)) and not pieces.has(call(name, 0x1000))


@given(st.integers(0, (1 << 32) - 1), st.integers(-2, 2))
def test_addresses_of_a_library(root: Path, address: int, beside: int) -> None:
    with PROGRAM.open("rb") as file:
        loads = [
            (each["p_vaddr"], each["p_vaddr"] + each["p_filesz"])
            for each in ELFFile(file).iter_segments("PT_LOAD")
        ]
    pieces = RecordedPieces(root)
    ends = [max(0, end + beside) for load in loads for end in load]
    for each in (address, *ends):
        expected = any(start <= each < end for start, end in loads)
        assert pieces.has(call("program", each)) == expected


def test_a_number_of_misses_names_none(root: Path) -> None:
    assert not RecordedPieces(root).has(FileCount(1, 1.5, 3))
