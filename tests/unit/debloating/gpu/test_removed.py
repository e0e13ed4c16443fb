"""GPU code that left a library and what belongs in its place: to the byte, on nvcc's libraries."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from cuda_sources import library, needs_cuda_tools
from fatbin_wrappers import read_wrappers

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.gpu.compression import WorkLimit
from trimtab.binaries.gpu.fatbin import ElementKind, cubin_bytes, find_gpu_code, read_region
from trimtab.binaries.gpu.wrappers import registered_regions
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.debloating.gpu.elements import UsedGpuCode
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.located import Located, locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.debloating.removed_pages import RemovedPages, removed_pages
from trimtab.debloating.span_document import document_of
from trimtab.records.usage import UsedModule

# With a table of its own the module takes more than a page even compressed.
NUMBERS = ", ".join(str(i * 2654435761 % 4294967291) for i in range(8192))
BIG = f"""
__constant__ unsigned table[8192] = {{{NUMBERS}}};
extern "C" __global__ void big0(unsigned *x) {{ x[threadIdx.x] += table[x[0] % 8192]; }}
"""
OPTIONS = Debloat(name="x", remove=Remove.CODE, minimum_hole_bytes=4096)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library(tmp_path_factory.mktemp("big") / "libbig.so", "compressed_default", BIG)


def located(
    path: Path,
    use: UsedGpuCode | None,
    touched: list[int] | None = None,
    gpus: tuple[int, ...] = (80, 90),
) -> Located:
    elf = read_elf(path)
    used = read_functions(elf).start.astype(np.int64)
    data = np.array(touched or [], np.int64)
    target = ProfiledLibrary("libbig.so", path, elf.build_id, elf.size_bytes, used, "", data)
    return locate_used(target, OPTIONS, GpuScope(gpus, use, put_back=True))


def removed_of(path: Path, found: Located) -> RemovedPages:
    document = document_of(path, "libbig.so", found.spans, 4096, sha256="ab" * 32, gpu=found.gpu)
    return removed_pages(read_elf(path), found.spans, document)


def with_pages_back(elf: Elf, slim: Path, removed: RemovedPages) -> bytes:
    """The slim library as the original's file would be when everything has come back."""
    image = bytearray(elf.size_bytes)
    small = read_elf(slim)
    for load in small.loads:
        at = int(elf.offsets_of(np.array([load.address]))[0])
        image[at : at + load.file_bytes] = small.data[load.offset : load.end].tobytes()
    original = elf.data.tobytes()
    for hole in removed.holes:
        at = int(elf.offsets_of(np.array([hole["address"]], np.int64))[0])
        size = int(hole["size"]) & ~4095
        image[at : at + size] = bytes(size)
    for piece in removed.pieces:
        at = int(elf.offsets_of(np.array([piece["address"]], np.int64))[0])
        source, size = int(piece["offset"]), int(piece["size"])
        image[at : at + size] = original[source : source + size]
    return bytes(image[: elf.size_bytes])


def programs(data: bytes, regions: list[int]) -> list[tuple[int, ElementKind, int, str]]:
    """Region, kind, architecture and digest of the program of every listed element."""
    view, listed = memoryview(data), []
    for offset in regions:
        region = read_region(view, offset, WorkLimit(1 << 40))
        assert region is not None
        for element in region.elements:
            program = cubin_bytes(np.frombuffer(data, np.uint8), element)
            digest = hashlib.sha256(program).hexdigest()
            listed.append((offset, element.kind, element.architecture.number, digest))
    return listed


@needs_cuda_tools
@pytest.mark.parametrize("used", [None, "first"])
def test_what_comes_back_is_what_the_driver_would_have_found(
    compiled: Path, tmp_path: Path, used: str | None
) -> None:
    elf = read_elf(compiled)
    code = find_gpu_code(elf)
    elements = [element for region in code.regions for element in region.elements]
    cubins = [element for element in elements if element.kind is ElementKind.ELF]
    modules = []
    if used:
        program = cubin_bytes(elf.data, cubins[0])
        digest = hashlib.sha256(program).hexdigest()
        modules = [UsedModule(digest, len(program), ["big0"], [], False, [1])]
    found = located(compiled, UsedGpuCode.of(modules, [80, 90]))
    removed = removed_of(compiled, found)
    slim = tmp_path / "slim.so"
    result = rewrite(elf, found.spans, "compact", slim, 4096, patches=found.patches)
    assert result.holes and removed.gpu_code and result.size_after_bytes < elf.size_bytes
    back = with_pages_back(elf, slim, removed)
    regions = sorted(registered_regions(elf, find_gpu_code(elf)))
    after = programs(back, regions)
    before = programs(elf.data.tobytes(), regions)
    fits = {element.offset for element in elements} & set(found.gpu.placed)
    assert len(after) == len(fits) and set(after) <= set(before)
    assert {a for _, kind, a, _ in after if kind is ElementKind.ELF} == {80, 90}


@needs_cuda_tools
def test_all_gpu_code_that_no_program_asked_for_comes_back_as_it_was(
    compiled: Path, tmp_path: Path
) -> None:
    elf = read_elf(compiled)
    none = UsedGpuCode.of([], [], linked=False)
    found = located(compiled, none, gpus=())
    assert found.gpu.bytes_kept == 0 < found.gpu.bytes_total
    slim = tmp_path / "slim.so"
    rewrite(elf, found.spans, "compact", slim, 4096, patches=found.patches)
    back = with_pages_back(elf, slim, removed_of(compiled, found))
    regions = sorted(registered_regions(elf, find_gpu_code(elf)))
    assert programs(back, regions) == programs(elf.data.tobytes(), regions) != []
    again = located(compiled, none, [find_gpu_code(elf).regions[0].elements[0].offset + 100], ())
    assert again.gpu.elements_kept == 1


@needs_cuda_tools
def test_a_piece_that_came_back_once_is_kept_from_then_on(compiled: Path) -> None:
    elf = read_elf(compiled)
    unused = located(compiled, UsedGpuCode.of([], [80, 90]))
    removed = removed_of(compiled, unused)
    kernel = removed.kernels[0]
    assert removed.text[kernel["name"] :].split(b"\0")[0] in (b"big0", b"")
    again = located(compiled, UsedGpuCode.of([], [80, 90]), [int(kernel["original"]) + 100])
    assert unused.gpu.decisions and again.gpu.decisions
    offset = int(elf.offsets_of(np.array([kernel["original"]], np.int64))[0])
    assert offset in again.gpu.decisions.kept and offset not in unused.gpu.decisions.kept


@needs_cuda_tools
def test_registered_regions_are_those_that_wrappers_name(compiled: Path) -> None:
    elf = read_elf(compiled)
    named = {wrapper.region_offset for wrapper in read_wrappers(elf)}
    assert registered_regions(elf, find_gpu_code(elf)) == named - {None}
    assert {region.offset for region in find_gpu_code(elf).regions} == registered_regions(
        elf, find_gpu_code(elf)
    )


@needs_cuda_tools
def test_without_section_headers_any_region_may_be_registered(
    compiled: Path, tmp_path: Path
) -> None:
    """Where a wrapper led to nothing, the program ended as its library was loaded."""
    path, data = tmp_path / "libbig.so", bytearray(compiled.read_bytes())
    data[40:48], data[60:64] = bytes(8), bytes(4)
    path.write_bytes(data)
    elf = read_elf(path)
    code = find_gpu_code(elf)
    assert code.regions and not elf.sections
    assert registered_regions(elf, code) == {region.offset for region in code.regions}
