"""Libraries that are made anew: together they leave a program room for mappings."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PAGE_BYTES, PROGRAM_HEADER, PT_NOTE
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.read_back import WRITTEN_WRONGLY
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.debloating import slimming
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.profiled import ProfiledLibrary, profiled_libraries
from trimtab.debloating.slimming import Slimming
from trimtab.files import sha256_of
from trimtab.records.library_spans import LibrarySpans, spans_file
from trimtab.records.usage import Usage, UsedLibrary


def with_holes(folder: Path) -> ProfiledLibrary:
    """A library of four holes, of 4 to 64 KiB, between functions that are used."""
    path = folder / "libholes.so"
    text = "".join(
        f".p2align 12\n.globl {name}\n.type {name}, @function\n{name}:\n.cfi_startproc\n"
        f".fill {size}, 1, 0x90\nret\n.cfi_endproc\n.size {name}, . - {name}\n"
        for pages in (1, 2, 4, 8, 16)
        for name, size in ((f"used{pages}", 8), (f"unused{pages}", pages * PAGE_BYTES - 8))
    )
    command: list[str | Path] = ["gcc", "-x", "assembler", "-", "-shared", "-o", path]
    subprocess.run([*command, "-Wl,--build-id"], input=text, text=True, check=True)
    elf = read_elf(path)
    starts = read_functions(elf).start.astype("int64")
    return ProfiledLibrary(
        path.name, path, elf.build_id, elf.size_bytes, starts[::2], "", sha256=sha256_of(path)
    )


@pytest.mark.parametrize(("most", "smallest_bytes"), [(4, 4096), (3, 8192), (1, 32768)])
def test_the_smallest_holes_go_where_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, smallest_bytes: int
) -> None:
    monkeypatch.setattr(slimming, "_MOST_HOLES", most)
    library = with_holes(tmp_path)
    options = Debloat(name="x", remove=Remove.CODE, minimum_hole_bytes=4096)
    made = Slimming(options, GpuScope(), tmp_path / "slim", tmp_path / "spans")
    (slim,) = made.rewrite([library], lambda name, done, total: None)
    assert slim.rewritten.holes == most
    document = LibrarySpans.read(spans_file(tmp_path / "spans", library.name))
    assert document.minimum_hole_bytes == smallest_bytes
    assert read_elf(slim.path).build_id == library.build_id


def test_one_that_was_written_wrongly_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the writer had a fault: what it wrote is found, and costs that library alone."""
    library = with_holes(tmp_path)

    def faulty(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(8)
            file.write(b"\3")

    attempts: list[str] = []

    def once(path: Path) -> None:
        attempts.append(path.name)
        if len(attempts) == 1:
            faulty(path)

    monkeypatch.setattr(slimming, "unmap_headers", once)
    made = Slimming(
        Debloat(name="x", remove=Remove.CODE), GpuScope(), tmp_path / "slim", tmp_path / "spans"
    )
    (slim,) = made.rewrite([library], lambda name, done, total: None)
    assert WRITTEN_WRONGLY in slim.located.spans.note
    assert slim.path.read_bytes() == library.path.read_bytes()


def cut_behind_its_segments(data: bytearray, elf: Elf) -> None:
    del data[max(load.end for load in elf.loads) :]


def no_such_names(data: bytearray, elf: Elf) -> None:
    data[62:64] = b"\xff\xff"


def headers_of_no_size(data: bytearray, elf: Elf) -> None:
    data[58:60] = bytes(2)


def note_past_the_end(data: bytearray, elf: Elf) -> None:
    number = [segment.type for segment in elf.segments].index(PT_NOTE)
    at = elf.program_header_offset + number * PROGRAM_HEADER.size + 8
    data[at : at + 8] = (1 << 30).to_bytes(8, "little")


@pytest.mark.parametrize("mode", ["zero", "punch", "compact"])
@pytest.mark.parametrize(
    "damage", [cut_behind_its_segments, no_such_names, headers_of_no_size, note_past_the_end]
)
def test_one_that_only_the_dynamic_linker_reads_stays_as_it_is(
    tmp_path: Path, damage: Callable[[bytearray, Elf], None], mode: str
) -> None:
    """It costs itself alone, and its note says why: what is loaded may have damaged headers."""
    path = with_holes(tmp_path).path
    data = bytearray(path.read_bytes())
    damage(data, read_elf(path))
    path.write_bytes(data)
    ctypes.CDLL(str(path))
    record = UsedLibrary(
        path=str(path), build_id=None, size_bytes=len(data), sha256=sha256_of(path), traced=True,
        not_traced_because="", functions_total=0, functions_used=0,
    )  # fmt: skip
    usage = Usage(workload="odd", command=["python"], complete=True, libraries=[record])
    (library,) = profiled_libraries([usage], tmp_path)
    options = Debloat(name="x", remove=Remove.CODE, mode=mode)  # type: ignore[arg-type]
    made = Slimming(options, GpuScope(), tmp_path / "slim", tmp_path / "spans")
    (slim,) = made.rewrite([library], lambda name, done, total: None)
    assert slim.located.spans.note.startswith("it is left as it is: ")
    assert slim.path.read_bytes() == data
