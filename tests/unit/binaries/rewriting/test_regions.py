import struct
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from cuda_sources import library, listed_elements, needs_cuda_tools
from hypothesis import given
from hypothesis import strategies as st

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.gpu.architecture import Architecture
from trimtab.binaries.gpu.fatbin import (
    REGION_HEADER_BYTES,
    CubinFrame,
    Element,
    ElementKind,
    FatbinRegion,
    GpuCode,
    cubin_bytes,
    find_gpu_code,
)
from trimtab.binaries.rewriting.regions import RewrittenGpuCode, rewrite_regions

ELEMENT = struct.Struct("<HHIQIIHHIIIQQQ")


def element_bytes(payload: bytes, number: int = 90, options: bytes = b"") -> bytes:
    """An uncompressed cubin element; options lengthen its header."""
    header_bytes = ELEMENT.size + len(options)
    padded = payload + bytes(-len(payload) % 8)
    header = ELEMENT.pack(
        2, 0x101, header_bytes, len(padded), 0, ELEMENT.size, 0, 0, number, 0, 0, 0x11, 0, 0
    )
    return header + options + padded


def region_bytes(*elements: bytes) -> bytes:
    body = b"".join(elements)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, REGION_HEADER_BYTES, len(body)) + body


def region_at(data: bytes, offset: int) -> FatbinRegion:
    """A reader of its own: the sizes in the headers lead exactly from one element to the next."""
    magic, _, header_bytes, size = struct.unpack_from("<IHHQ", data, offset)
    assert (magic, header_bytes) == (0xBA55ED50, REGION_HEADER_BYTES)
    elements, at = [], offset + REGION_HEADER_BYTES
    while at < offset + REGION_HEADER_BYTES + size:
        fields = ELEMENT.unpack_from(data, at)
        header, payload, number = fields[2], fields[3], fields[8]
        elements.append(
            Element(
                offset=at,
                header_bytes=header,
                payload_bytes=payload,
                stored_bytes=payload,
                uncompressed_bytes=payload,
                kind=ElementKind(fields[0]),
                architecture=Architecture(number),
                compression="none",
                flags=fields[11],
            )
        )
        at = elements[-1].end
    assert at == offset + REGION_HEADER_BYTES + size
    return FatbinRegion(offset, tuple(elements))


def gpu_code_of(data: bytes, regions: list[int]) -> GpuCode:
    return GpuCode(tuple(region_at(data, offset) for offset in regions), ())


def patched(data: bytes, rewritten: RewrittenGpuCode, free_byte: int = 0xAA) -> bytes:
    """The file with the patches written and every free byte overwritten."""
    result = bytearray(data)
    for patch in rewritten.patches:
        result[patch.offset : patch.end] = patch.data.tobytes()
    for start, end in zip(rewritten.free_start, rewritten.free_end, strict=True):
        result[start:end] = bytes([free_byte]) * int(end - start)
    return bytes(result)


def stored(data: bytes, region: FatbinRegion) -> list[bytes]:
    return [data[element.offset : element.end] for element in region.elements]


def inhabited(region: FatbinRegion, keep: set[int]) -> bool:
    return any(element.offset in keep for element in region.elements)


elements = st.builds(
    element_bytes,
    st.binary(max_size=40),
    st.sampled_from([75, 80, 90, 120]),
    st.sampled_from([b"", b"-O3 --opt", b"x" * 80]).map(lambda text: text + bytes(-len(text) % 8)),
)
# A file: regions one straight behind the other or with other data between.
files = st.lists(st.tuples(st.lists(elements, max_size=5), st.sampled_from([0, 8, 24])), max_size=4)


def laid_out(parts: list[tuple[list[bytes], int]]) -> tuple[bytes, list[int]]:
    data, offsets = b"\x11" * 8, []
    for body, gap in parts:
        offsets.append(len(data))
        data += region_bytes(*body) + b"\x11" * gap
    return data, offsets


@given(files, st.data())
def test_a_rewritten_file_holds_exactly_the_kept_elements(
    parts: list[tuple[list[bytes], int]], draw: st.DataObject
) -> None:
    data, offsets = laid_out(parts)
    code = gpu_code_of(data, offsets)
    every = [element.offset for region in code.regions for element in region.elements]
    keep = set(draw.draw(st.lists(st.sampled_from(every), unique=True)) if every else [])
    rewritten = rewrite_regions(np.frombuffer(data, np.uint8), code, keep)
    result = patched(data, rewritten)
    left_regions = [
        region for region in code.regions if not region.elements or inhabited(region, keep)
    ]
    again = gpu_code_of(result, [region.offset for region in left_regions])
    for before, after in zip(left_regions, again.regions, strict=True):
        assert after.offset == before.offset
        assert stored(result, after) == [
            data[e.offset : e.end] for e in before.elements if e.offset in keep
        ]
        assert all((e.offset - before.offset) % 8 == 0 for e in after.elements)
    # Nothing outside regions changes.
    inside = np.zeros(len(data), bool)
    for region in code.regions:
        inside[region.offset : region.end] = True
    assert bytes(np.frombuffer(data, np.uint8)[~inside]) == bytes(
        np.frombuffer(result, np.uint8)[~inside]
    )
    # What is free and what is kept add up.
    kept_bytes = sum(e.end - e.offset for r in code.regions for e in r.elements if e.offset in keep)
    headers = REGION_HEADER_BYTES * len(left_regions)
    free_bytes = int((rewritten.free_end - rewritten.free_start).sum())
    assert free_bytes + kept_bytes + headers == int(inside.sum())
    # Rewriting again, with all that is left kept, changes nothing.
    left = {element.offset for region in again.regions for element in region.elements}
    twice = rewrite_regions(np.frombuffer(result, np.uint8), again, left)
    assert twice.patches == () and twice.free_start.size == 0


@given(files, st.data())
def test_patches_and_free_bytes_are_sorted_and_disjoint(
    parts: list[tuple[list[bytes], int]], draw: st.DataObject
) -> None:
    data, offsets = laid_out(parts)
    code = gpu_code_of(data, offsets)
    every = [element.offset for region in code.regions for element in region.elements]
    keep = set(draw.draw(st.lists(st.sampled_from(every), unique=True)) if every else [])
    rewritten = rewrite_regions(np.frombuffer(data, np.uint8), code, keep)
    start, end = rewritten.free_start, rewritten.free_end
    assert start.dtype == end.dtype == np.int64
    assert np.all(start < end) and np.all(end[:-1] <= start[1:])
    taken = np.zeros(len(data), int)
    for patch in rewritten.patches:
        taken[patch.offset : patch.end] += 1
    for low, high in zip(start, end, strict=True):
        taken[low:high] += 1
    assert taken.max(initial=0) <= 1
    offsets_of_patches = [patch.offset for patch in rewritten.patches]
    assert offsets_of_patches == sorted(offsets_of_patches)


@pytest.fixture
def three() -> tuple[np.ndarray, GpuCode]:
    data = region_bytes(*(element_bytes(bytes([n]) * 32) for n in (1, 2, 3)))
    return np.frombuffer(data, np.uint8), gpu_code_of(data, [0])


def test_elements_at_the_front_are_not_written_again(three: tuple[np.ndarray, GpuCode]) -> None:
    data, code = three
    first, second, _ = code.regions[0].elements
    (header,) = rewrite_regions(data, code, {first.offset, second.offset}).patches
    assert (header.offset, header.data.tobytes()) == (8, struct.pack("<Q", 2 * 96))


def test_a_moved_element_is_a_view_of_the_file(three: tuple[np.ndarray, GpuCode]) -> None:
    data, code = three
    last = code.regions[0].elements[2]
    _, moved = rewrite_regions(data, code, {last.offset}).patches
    assert np.shares_memory(moved.data, data)
    assert moved.data.tobytes() == data[last.offset : last.end].tobytes()


def test_an_emptied_region_is_free_with_its_header(three: tuple[np.ndarray, GpuCode]) -> None:
    data, code = three
    rewritten = rewrite_regions(data, code, set())
    assert rewritten.patches == ()
    assert (rewritten.free_start.tolist(), rewritten.free_end.tolist()) == ([0], [data.size])


@pytest.mark.parametrize(("between", "padding"), [(bytes(24), 1), (bytes(23) + b"x", 0)])
def test_zeros_between_free_regions_go_with_them(between: bytes, padding: int) -> None:
    region = region_bytes(element_bytes(b"code"))
    data = region + between + region
    code = gpu_code_of(data, [0, len(region) + len(between)])
    rewritten = rewrite_regions(np.frombuffer(data, np.uint8), code, set())
    starts, ends = rewritten.padding_start.tolist(), rewritten.padding_end.tolist()
    assert starts == [len(region)] * padding
    assert ends == [len(region) + len(between)] * padding
    kept = {code.regions[1].elements[0].offset}
    partly = rewrite_regions(np.frombuffer(data, np.uint8), code, kept)
    assert partly.padding_start.size == partly.padding_end.size == 0


def test_a_replacement_takes_the_place_of_its_element(three: tuple[np.ndarray, GpuCode]) -> None:
    data, code = three
    first, second, third = (element.offset for element in code.regions[0].elements)
    shorter = element_bytes(b"short")
    rewritten = rewrite_regions(data, code, {first, second, third}, {second: shorter})
    result = patched(data.tobytes(), rewritten)
    region = gpu_code_of(result, [0]).regions[0]
    assert stored(result, region) == [
        data[first:second].tobytes(),
        shorter,
        data[third:].tobytes(),
    ]


@pytest.mark.parametrize("replacement", [bytes(104), bytes(92)])
def test_a_replacement_that_does_not_fit_is_refused(
    three: tuple[np.ndarray, GpuCode], replacement: bytes
) -> None:
    data, code = three
    offset = code.regions[0].elements[0].offset
    with pytest.raises(ValueError, match="do not replace an element of 96"):
        rewrite_regions(data, code, {offset}, {offset: replacement})


@pytest.mark.parametrize(("keep", "replacements"), [({17}, {}), (set(), {17: b""})])
def test_an_offset_that_is_no_piece_is_refused(
    three: tuple[np.ndarray, GpuCode], keep: set[int], replacements: dict[int, bytes]
) -> None:
    data, code = three
    with pytest.raises(ValueError, match=r"begins at ."):
        rewrite_regions(data, code, keep, replacements)


def test_a_frame_is_kept_whole_or_free() -> None:
    data = np.arange(100, dtype=np.uint8)
    frames = (CubinFrame(10, 30, 100, Architecture(90)), CubinFrame(40, 60, 100, Architecture(80)))
    rewritten = rewrite_regions(data, GpuCode((), frames), {10})
    assert rewritten.patches == ()
    assert (rewritten.free_start.tolist(), rewritten.free_end.tolist()) == ([40], [60])


@needs_cuda_tools
@pytest.mark.parametrize("layout", ["compressed_none", "compressed_size", "relocatable"])
def test_the_oracle_lists_exactly_the_kept_elements(layout: str, tmp_path: Path) -> None:
    source, target = library(tmp_path / "source.so", layout), tmp_path / "rewritten.so"
    elf = read_elf(source)
    code = find_gpu_code(elf)
    every = [element for region in code.regions for element in region.elements]
    for keep in (every, every[1::2], every[:1], every[-1:], []):
        rewritten = rewrite_regions(elf.data, code, {element.offset for element in keep})
        target.write_bytes(patched(elf.data.tobytes(), rewritten, free_byte=0))
        expected = Counter((e.kind.name, str(e.architecture)) for e in keep)
        assert listed_elements(target) == expected
        found = find_gpu_code(read_elf(target))
        assert [
            cubin_bytes(read_elf(target).data, element)
            for region in found.regions
            for element in region.elements
        ] == [cubin_bytes(elf.data, element) for element in keep]
        complaints = subprocess.run(
            ["readelf", "--all", "--wide", target], capture_output=True, text=True, check=True
        )
        assert complaints.stderr == ""
