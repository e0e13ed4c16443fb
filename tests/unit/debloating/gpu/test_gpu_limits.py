"""GPU code that is damaged, or made to become more than memory holds, costs itself alone."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from example_libraries import C_SOURCE, LAYOUTS, compile_library
from fatbin_parts import cubin, element, region

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.gpu import compression
from trimtab.binaries.gpu.compression import CompressionError, Expansion, TooLargeError
from trimtab.binaries.gpu.cubin import CubinError, read_cubin
from trimtab.binaries.gpu.ptx import PtxError, ptx_kernels
from trimtab.binaries.rewriting.locate import locate
from trimtab.debloating.gpu.elements import ElementReason, UsedGpuCode
from trimtab.debloating.gpu.gpu_code import GpuScope, LocatedGpuCode, has_gpu_code, locate_gpu_code
from trimtab.debloating.span_document import document_of
from trimtab.files import sha256_of
from trimtab.records.library_spans import LibrarySpans
from trimtab.zstd import zstd

SCOPE = GpuScope((90,), UsedGpuCode.of([], [90]))
LARGE = cubin("sm_90", "large", code_bytes=1 << 20)
SMALL = cubin("sm_90", "small")
Located = Callable[[bytes], tuple[LocatedGpuCode, LibrarySpans]]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("library") / "libplain.so"
    return compile_library(path, C_SOURCE, *LAYOUTS["default"]).read_bytes()


@pytest.fixture
def located(plain: bytes, tmp_path: Path) -> Located:
    """Returns what becomes of a library with the given GPU code when nothing of it was used."""

    def locate_in(code: bytes) -> tuple[LocatedGpuCode, LibrarySpans]:
        path = tmp_path / "library.so"
        path.write_bytes(plain + code)
        elf = read_elf(path)
        functions = read_functions(elf)
        spans = locate(elf, functions, np.ones(len(functions), bool), True)
        spans, gpu = locate_gpu_code(elf, spans, SCOPE)
        return gpu, document_of(path, "library.so", spans, 4096, sha256=sha256_of(path), gpu=gpu)

    return locate_in


def reasons(gpu: LocatedGpuCode) -> list[ElementReason]:
    assert gpu.decisions is not None
    return [ElementReason(reason) for reason in gpu.decisions.reason]


def one_block_too_long(frame: bytes) -> bytes:
    """The frame with its last block's header saying that it is longer than the frame."""
    header = compression.zstd_header_bytes(frame)
    block = int.from_bytes(frame[header : header + 3], "little")
    return frame[:header] + (block + (5000 << 3)).to_bytes(3, "little") + frame[header + 3 :]


def test_a_damaged_element_costs_itself_alone(located: Located) -> None:
    """TooMuchWorkError left the search where a block was longer than its element."""
    whole = element(SMALL, compression="zstd")
    stored = zstd.compress(SMALL)
    damaged = whole.replace(stored, one_block_too_long(stored))
    assert damaged != whole
    gpu, document = located(region(whole, damaged, whole))
    assert reasons(gpu) == [
        ElementReason.UNUSED, ElementReason.UNREADABLE, ElementReason.UNUSED,
    ]  # fmt: skip
    assert document.gpu_code is not None
    assert document.gpu_code.elements_by_reason["what it holds cannot be told"] == 1
    with pytest.raises(CompressionError, match="cut off within a block"):
        compression.decompress_zstd(one_block_too_long(stored), len(SMALL), Expansion(1 << 30))


@pytest.mark.parametrize("how", ["lz4", "zstd"])
def test_what_would_become_too_much_in_all_is_kept(
    how: str, located: Located, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "MOST_UNCOMPRESSED_BYTES", 3 << 20)
    monkeypatch.setattr(compression, "MOST_EXPANSION", 0)
    large, small = element(LARGE, compression=how), element(SMALL)
    gpu, document = located(region(large, large, large, large, small))
    assert sorted(reasons(gpu)) == [
        ElementReason.UNUSED, ElementReason.UNUSED, ElementReason.UNUSED,
        ElementReason.TOO_LARGE, ElementReason.TOO_LARGE,
    ]  # fmt: skip
    assert reasons(gpu)[-1] is ElementReason.UNUSED
    assert document.gpu_code is not None
    assert document.gpu_code.elements_by_reason[ElementReason.TOO_LARGE.text] == 2


def test_one_program_has_a_limit_of_its_own(
    located: Located, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "MOST_UNCOMPRESSED_BYTES", 1 << 20)
    large, small = (element(each, compression="zstd") for each in (LARGE, SMALL))
    gpu, _ = located(region(small, large, small))
    assert [reason.kept for reason in reasons(gpu)] == [False, True, False]


@pytest.mark.parametrize("how", ["lz4", "zstd"])
def test_a_size_that_cannot_be_takes_nothing_from_the_others(
    how: str, located: Located, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "MOST_UNCOMPRESSED_BYTES", 4 << 20)
    monkeypatch.setattr(compression, "MOST_EXPANSION", 0)
    lying = element(SMALL, compression=how, declared_bytes=3 << 20)
    gpu, _ = located(region(*[lying] * 5, element(LARGE, compression=how)))
    assert reasons(gpu) == [ElementReason.UNREADABLE] * 5 + [ElementReason.UNUSED]


def test_bare_frames_count_too(located: Located, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = zstd.compress(cubin("sm_90", "bare", code_bytes=100_000))
    many = frame * 4
    assert len(located(many + bytes(4096))[0].code.frames) == 0  # no such ratio is real
    monkeypatch.setattr("trimtab.binaries.gpu.fatbin._MOST_FRAME_RATIO", 10_000)
    assert len(located(many + bytes(4096))[0].code.frames) == 4
    monkeypatch.setattr(compression, "MOST_UNCOMPRESSED_BYTES", 450_000)
    monkeypatch.setattr(compression, "MOST_EXPANSION", 0)
    assert len(located(many + bytes(4096))[0].code.frames) == 2


def test_gpu_code_that_overlaps_stays_and_the_library_does_not(located: Located) -> None:
    """Each payload ends with a region of all later elements, of which the last is broken."""
    chain = b"\xff" * 64
    for _ in range(250):
        chain = element(bytes(112) + region(size=len(chain))) + chain
    gpu, document = located(region(chain))
    assert gpu.decisions is None and gpu.patches == ()
    assert document.gpu_note == "its GPU code overlaps, as only damaged code does"
    assert has_gpu_code(read_elf(Path(document.library)))


def test_empty_blocks_are_work(located: Located) -> None:
    """A block takes three bytes in the file, and the time of sixty."""
    head = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 1000)
    assert located(head + bytes(3 << 20))[0].code.problem
    with pytest.raises(CompressionError, match="too many blocks"):
        compression.decompress_zstd(head + bytes(1 << 20), 1000, Expansion(1 << 30))


@pytest.mark.parametrize("size", [(1 << 32) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1])
@pytest.mark.parametrize("field", [8, 56])
def test_sizes_at_the_limits_of_their_fields(field: int, size: int, located: Located) -> None:
    """Of the payload, and of what it becomes."""
    odd = bytearray(element(SMALL, compression="lz4"))
    odd[field : field + 8] = size.to_bytes(8, "little")
    gpu, _ = located(region(bytes(odd)) + region(element(SMALL)))
    assert gpu.decisions is not None
    assert reasons(gpu)[-1] is ElementReason.UNUSED
    assert all(reason is ElementReason.UNREADABLE for reason in reasons(gpu)[:-1])


def test_no_two_threads_take_the_same_bytes() -> None:
    expansion = Expansion(10)
    expansion.take(6)
    with pytest.raises(TooLargeError, match="becomes 5 bytes"):
        expansion.take(5)
    expansion.take(4)


def test_sections_that_lie_over_each_other_are_refused() -> None:
    sections = 6
    overlapping = bytearray(cubin("sm_90", "kernel", code_bytes=1 << 16))
    table = len(overlapping) - sections * 64
    text = overlapping[table + 4 * 64 : table + 5 * 64]
    more = bytes(overlapping) + bytes(text) * 20
    header = bytearray(more)
    struct.pack_into("<H", header, 60, sections + 20)
    assert read_cubin(bytes(overlapping)).kernels == ("kernel",)
    with pytest.raises(CubinError, match="sections that overlap"):
        read_cubin(bytes(header))


def test_a_text_of_a_million_kernels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.binaries.gpu.ptx._MOST_KERNELS", 3)
    text = b"".join(b".entry k%d(" % number for number in range(4))
    assert ptx_kernels(text[: text.rindex(b".entry")]) == {"k0", "k1", "k2"}
    with pytest.raises(PtxError):
        ptx_kernels(text)
