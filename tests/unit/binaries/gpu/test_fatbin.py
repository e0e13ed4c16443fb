import random
import struct
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cuda_sources import KERNELS, cubin, library, needs_cuda_tools
from fatbin_parts import FLAGS, element, region
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.binaries.gpu import fatbin_scan
from trimtab.binaries.gpu.fatbin import (
    CubinFrame,
    Element,
    ElementKind,
    FatbinError,
    GpuCode,
    cubin_bytes,
    find_gpu_code,
)
from trimtab.zstd import zstd

Compiled = Callable[[str], Path]


@pytest.fixture
def code_after(c_library: Compiled, tmp_path: Path) -> Callable[[bytes], tuple[GpuCode, Path, int]]:
    """Returns what is found in a library that the given bytes were appended to, and where they are.

    The search is of the whole file, so it does not matter that no section holds them.
    """
    plain = c_library("default").read_bytes()

    def find(appended: bytes) -> tuple[GpuCode, Path, int]:
        path = tmp_path / "library.so"
        path.write_bytes(plain + appended)
        return find_gpu_code(read_elf(path)), path, len(plain)

    return find


def check_parts(code: GpuCode, size_bytes: int) -> None:
    """Nothing overlaps, and the parts of each region add up to it."""
    pieces = sorted([*code.regions, *code.frames], key=lambda piece: piece.offset)
    for before, after in pairwise(pieces):
        assert before.end <= after.offset
    assert all(0 <= p.offset < p.end <= size_bytes for p in pieces)
    for found in code.regions:
        assert found.end - found.offset == 16 + sum(
            e.header_bytes + e.payload_bytes for e in found.elements
        )


def test_a_library_without_gpu_code_has_none(c_library: Compiled) -> None:
    assert find_gpu_code(read_elf(c_library("default"))) == GpuCode((), ())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.lists(
        st.tuples(
            st.binary(min_size=1, max_size=300),
            st.sampled_from([1, 2, 8, 256, 4]),
            st.sampled_from(list(FLAGS)),
            st.integers(50, 130),
            st.sampled_from([(0, ""), (0x100000, "a"), (0x200000, "f")]),
            st.sampled_from([b"", b"-O3\0\0\0\0\0", bytes(400)]),
        ),
        max_size=4,
    ),
    before=st.binary(max_size=40),
)
def test_what_was_written_is_read(contents, before, code_after) -> None:  # type: ignore[no-untyped-def]
    """At any alignment, of any kind, with any header length."""
    written = region(
        *(
            element(content, kind, how, number=number, variant=variant, options=options)
            for content, kind, how, number, (variant, _), options in contents
        )
    )
    code, path, start = code_after(before + written + b"x" * 5)
    data = read_elf(path).data
    check_parts(code, data.size)
    assert [r.offset for r in code.regions] == [start + len(before)]
    assert code.regions[0].end == start + len(before) + len(written)
    for found, expected in zip(code.regions[0].elements, contents, strict=True):
        content, kind, how, number, (_, variant), _ = expected
        assert found.kind == (kind if kind != 4 else ElementKind.OTHER)
        assert found.compression == how
        assert str(found.architecture) == f"sm_{number}{variant}"
        got = cubin_bytes(data, found)
        # Only a compressed element knows its length without the padding.
        assert got == content if how != "none" else got.rstrip(b"\0") == content.rstrip(b"\0")


@pytest.mark.parametrize("window_bytes", [64, 67, 4096])
def test_windows_hide_nothing(
    window_bytes: int,
    code_after: Callable[[bytes], tuple[GpuCode, Path, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fatbin_scan, "_WINDOW_BYTES", window_bytes)
    # A magic number alone is in front of each, as the search has to go on right behind it.
    lone = b"\x50\xed\x55\xba"
    parts = [b"x" * gap + lone + region(element(b"code" * gap)) for gap in range(90)]
    code, _, start = code_after(b"".join(parts))
    ends = [start + sum(map(len, parts[: i + 1])) for i in range(90)]
    assert [r.end for r in code.regions] == ends


@pytest.mark.parametrize(
    "damaged",
    [
        region(element(), size=40),
        region(element(), size=1 << 63),
        region(element(), element()[:-8]),
        region(element().replace(b"\1\1\x40", b"\1\2\x40")),
        region(element(variant=0x300000)),
        region(element().replace(b"\x40\0\0\0", b"\x3f\0\0\0", 1)),
        region(element().replace(b"\x40\0\0\0", b"\x40\0\xff\xff", 1)),
        region(element(b"text", compression="lz4").replace(b"\5\0\0\0", b"\xff\xff\0\0", 1)),
        b"\x50\xed\x55\xba",
        b"\x28\xb5\x2f\xfd",
        zstd.compress(b"no cubin" * 100),
    ],
    ids=lambda damaged: f"{len(damaged)}_bytes",
)
def test_what_does_not_hold_together_is_no_gpu_code(
    damaged: bytes, code_after: Callable[[bytes], tuple[GpuCode, Path, int]]
) -> None:
    code, _, start = code_after(damaged + b"x" * 64 + region(element()))
    assert [r.offset for r in code.regions] == [start + len(damaged) + 64]
    assert code.frames == ()


@pytest.mark.parametrize("cut_bytes", [1, 8, 50, 72, 80])
def test_a_region_past_the_end_is_no_gpu_code(
    cut_bytes: int, code_after: Callable[[bytes], tuple[GpuCode, Path, int]]
) -> None:
    code, _, start = code_after(region(element()) + region(element())[:-cut_bytes])
    assert [r.offset for r in code.regions] == [start]


def test_regions_within_damaged_regions_end_the_search(
    code_after: Callable[[bytes], tuple[GpuCode, Path, int]],
) -> None:
    """Each payload ends with a region of all later elements, of which the last is broken."""
    broken = b"\xff" * 64
    chain = broken
    for _ in range(250):
        chain = element(bytes(112) + region(size=len(chain))) + chain
    code, _, _ = code_after(region(chain))
    assert code == GpuCode((), (), "its GPU code overlaps, as only damaged code does")


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("declared_bytes", [1 << 30, 1 << 62, 3999, 4001, 0])
def test_a_wrong_size_costs_no_memory(
    compression: str,
    declared_bytes: int,
    code_after: Callable[[bytes], tuple[GpuCode, Path, int]],
) -> None:
    content = random.Random(1).randbytes(4000)
    wrong = element(content, compression=compression, declared_bytes=declared_bytes)
    code, path, start = code_after(region(wrong))
    data = read_elf(path).data
    tracemalloc.start()
    with pytest.raises(FatbinError, match=f"file offset {start + 16:#x} "):
        cubin_bytes(data, code.regions[0].elements[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


@pytest.mark.parametrize("element_declares", [8, 1 << 30])
def test_a_frame_that_lies_about_its_content_costs_no_memory(
    element_declares: int,
    code_after: Callable[[bytes], tuple[GpuCode, Path, int]],
) -> None:
    """Its header declares 1 GiB, as the element may, but its one block holds 8 bytes."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 1 << 30) + b"\x41\0\0" + b"12345678"
    lying = element(b"12345678", compression="zstd", declared_bytes=element_declares)
    honest = zstd.compress(b"12345678")
    padding = bytes(-len(honest) % 8)
    lying = lying[: -len(honest + padding)] + frame + bytes(-len(frame) % 8)
    lying = lying[:8] + struct.pack("<QI", len(lying) - 64, len(frame)) + lying[20:]
    code, path, _ = code_after(region(lying) + frame)
    assert code.frames == ()
    data = read_elf(path).data
    tracemalloc.start()
    with pytest.raises(FatbinError, match="hold at most 8"):
        cubin_bytes(data, code.regions[0].elements[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_scrambled_lto_code_is_said_to_be() -> None:
    lto = Element(0, 64, 8, 8, 8, ElementKind.LTO_IR, None, "lz4", 0x12011)  # type: ignore[arg-type]
    with pytest.raises(FatbinError, match="scrambled LTO-IR"):
        cubin_bytes(np.zeros(100, np.uint8), lto)


@needs_cuda_tools
def test_bare_frames_are_cubins_alone(
    tmp_path: Path, code_after: Callable[[bytes], tuple[GpuCode, Path, int]]
) -> None:
    code = cubin(tmp_path / "kernels.cubin", KERNELS, "sm_90a")
    parameter = zstd.CompressionParameter

    def compress(content: bytes) -> bytes:
        return zstd.compress(content, options={parameter.checksum_flag: 1})

    def unsized(content: bytes) -> bytes:
        return zstd.compress(content, options={parameter.content_size_flag: 0})

    frame = compress(code)
    between = b"x" * 13
    parts = [
        frame,
        compress(code[1:]),
        frame[:-5],
        unsized(code),
        compress(code[: len(code) // 2]),
        frame,
    ]
    found, path, start = code_after(between.join(parts))
    last = start + len(between.join(parts)) - len(frame)
    assert [(f.offset, f.end) for f in found.frames] == [
        (start, start + len(frame)),
        (last, last + len(frame)),
    ]
    data = read_elf(path).data
    for piece in found.frames:
        assert cubin_bytes(data, piece) == code
        assert piece == CubinFrame(piece.offset, piece.end, len(code), piece.architecture)
        assert str(piece.architecture) == "sm_90a"


@pytest.fixture(scope="module")
def cuda_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library(tmp_path_factory.mktemp("cuda") / "libkernels.so", "compressed_speed")


@needs_cuda_tools
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32), flips=st.integers(0, 60), cut=st.floats(0, 1))
def test_damaged_libraries_raise_nothing_else(
    seed: int, flips: int, cut: float, cuda_library: Path, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    damaged = bytearray(cuda_library.read_bytes())
    start = damaged.index(b"\x50\xed\x55\xba")
    for _ in range(flips):
        at = start + chance.randrange(len(damaged) - start)
        if chance.random() < 0.3:  # the headers of the region and of its first element
            at = start + chance.randrange(16 + 64)
        damaged[at] ^= 1 << chance.randrange(8)
    if cut < 0.3:
        del damaged[int(len(damaged) * cut / 0.3) :]
    path = tmp_path / "damaged.so"
    path.write_bytes(damaged)
    try:
        elf = read_elf(path)
        code = find_gpu_code(elf)
    except ElfError:
        return
    check_parts(code, len(damaged))
    for piece in [*(e for r in code.regions for e in r.elements), *code.frames]:
        try:
            content = cubin_bytes(elf.data, piece)
        except FatbinError:
            continue
        assert len(content) == piece.uncompressed_bytes
