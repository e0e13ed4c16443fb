"""What programs ask of their loader, against pyelftools, and of damaged files nothing."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hand_made_root import elf
from hypothesis import given
from hypothesis import strategies as st

from trimtab.binaries.elf.loading import Loading, read_loading

HERE = [
    Path(sys.executable).resolve(),
    *sorted(Path("/usr/lib").glob("*-linux-gnu/lib[cdmz]*.so*")),
]
OF_THIS_MACHINE = [path for path in HERE if path.is_file()][:40]


def according_to_pyelftools(path: Path) -> Loading | None:
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        read = ELFFile(file)
        interpreter, tags = None, []
        for segment in read.iter_segments():
            if segment["p_type"] == "PT_INTERP":
                interpreter = segment.get_interp_name()
            if segment["p_type"] == "PT_DYNAMIC":
                tags = list(segment.iter_tags())
        named = {
            kind: tuple(
                getattr(tag, kind) for tag in tags if tag.entry.d_tag == f"DT_{kind.upper()}"
            )
            for kind in ("needed", "rpath", "runpath")
        }
        split = {
            kind: tuple(part for text in named[kind] for part in text.split(":") if part)
            for kind in ("rpath", "runpath")
        }
        machine = {"EM_X86_64": 62, "EM_AARCH64": 183}[read["e_machine"]]
        return Loading((machine, read.elfclass), interpreter, named["needed"], **split)


def test_pyelftools_agrees() -> None:
    assert OF_THIS_MACHINE
    for path in OF_THIS_MACHINE:
        with path.open("rb") as file:
            assert read_loading(file) == according_to_pyelftools(path), path


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("order", ["<", ">"])
def test_other_machines(wide: bool, order: str) -> None:
    data = elf(
        "liba.so", "libb.so", interpreter="/lib/ld.so", rpath="/a:/b", runpath="$ORIGIN",
        machine=40, wide=wide, order=order,
    )  # fmt: skip
    assert read_loading(io.BytesIO(data)) == Loading(
        (40, 64 if wide else 32), "/lib/ld.so", ("liba.so", "libb.so"), ("/a", "/b"), ("$ORIGIN",)
    )


WHOLE = elf("liba.so", interpreter="/lib/ld.so", runpath="/a")


@given(st.integers(0, len(WHOLE) - 1))
def test_a_file_that_is_cut_off(length: int) -> None:
    read_loading(io.BytesIO(WHOLE[:length]))


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6))
def test_a_damaged_file_is_no_program_or_another(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, value in changes:
        data[place] = value
    found = read_loading(io.BytesIO(bytes(data)))
    assert found is None or all(len(name) < 4096 for name in found.needed)


def test_what_is_none() -> None:
    for data in (b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF" + bytes(100)):
        assert read_loading(io.BytesIO(data)) is None


MARKS_OF_GO = {
    "note": '.section .note.go.buildid, "a", @note\n.long 4, 8, 4\n.ascii "Go\\0\\0"\n.quad 1\n',
    "section": '.section .go.buildinfo, "aw"\n.quad 1\n',
}


@pytest.fixture(scope="module", params=[*MARKS_OF_GO, None])
def marked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A program with one of the two marks of Go's linker, or with none."""
    folder = tmp_path_factory.mktemp("go")
    mark = MARKS_OF_GO.get(request.param, "")
    (folder / "a.s").write_text(mark + ".text\n.globl _start\n_start: hlt\n")
    built = ["gcc", "-static", "-nostdlib", "-o", folder / "a", folder / "a.s"]
    subprocess.run([*built, "-Wl,-z,nognustack"], check=True)
    return (folder / "a").read_bytes()


def test_programs_of_go_are_known_by_their_note_or_section(
    marked: bytes, request: pytest.FixtureRequest
) -> None:
    found = read_loading(io.BytesIO(marked))
    assert found is not None
    assert found.of_go == (request.node.callspec.params["marked"] is not None)
    assert not found.by_glibc


def test_damaged_marks_are_none_or_marks(marked: bytes) -> None:
    @given(st.lists(st.tuples(st.integers(0, len(marked) - 1), st.integers(0, 255)), max_size=6))
    def damaged(changes: list[tuple[int, int]]) -> None:
        data = bytearray(marked)
        for place, value in changes:
            data[place] = value
        read_loading(io.BytesIO(bytes(data)))

    damaged()


@pytest.mark.parametrize(
    ("interpreter", "by_glibc"),
    [
        ("/lib64/ld-linux-x86-64.so.2", True),
        ("/lib/ld-linux-aarch64.so.1", True),
        ("/lib/ld-musl-x86_64.so.1", False),
        ("", False),
    ],
)
def test_glibc_is_known_by_its_linker(interpreter: str, by_glibc: bool) -> None:
    found = read_loading(io.BytesIO(elf("liba.so", interpreter=interpreter)))
    assert found is not None
    assert found.by_glibc == by_glibc
