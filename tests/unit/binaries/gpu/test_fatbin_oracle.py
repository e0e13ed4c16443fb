"""GPU code as read here against what NVIDIA's cuobjdump lists."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cuda_sources import (
    CUDA,
    KERNELS,
    LAYOUTS,
    TOOLKIT,
    library,
    listed_elements,
    listed_symbols,
    needs_cuda_tools,
    nvcc,
)
from fatbin_wrappers import read_wrappers

from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.gpu.cubin import read_cubin
from trimtab.binaries.gpu.fatbin import (
    CubinFrame,
    Element,
    ElementKind,
    GpuCode,
    cubin_bytes,
    find_gpu_code,
)

pytestmark = needs_cuda_tools
_LISTED_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
LARGE = [f"lib{name}.so*" for name in ("cublas", "cublasLt", "cufft", "cusparse", "nccl")]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the library compiled in the given layout."""
    folder = tmp_path_factory.mktemp("cuda")
    return cache(lambda layout: library(folder / f"{layout}.so", layout))


def pieces(code: GpuCode) -> list[Element | CubinFrame]:
    return [*(e for region in code.regions for e in region.elements), *code.frames]


def elements_that_cuobjdump_sees(elf: Elf, code: GpuCode) -> Counter[tuple[str, str]]:
    sections = [s for name in _LISTED_SECTIONS if (s := elf.section(name))]
    return Counter(
        # cuobjdump prints family code like plain code.
        (element.kind.name, str(element.architecture).removesuffix("f"))
        for region in code.regions
        if any(s.offset <= region.offset < s.end for s in sections)
        for element in region.elements
        if element.kind in (ElementKind.ELF, ElementKind.PTX)
    )


def check_library(path: Path) -> GpuCode:
    """The list equals the oracle's where it looks, and everything decodes wherever it is."""
    elf = read_elf(path)
    code = find_gpu_code(elf)
    assert elements_that_cuobjdump_sees(elf, code) == listed_elements(path)
    for piece in pieces(code):
        kind = ElementKind.ELF if isinstance(piece, CubinFrame) else piece.kind
        if kind is ElementKind.ELF:
            architecture = read_cubin(cubin_bytes(elf.data, piece)).architecture
            assert architecture.number == piece.architecture.number
            assert (architecture.variant == "a") == (piece.architecture.variant == "a")
        elif kind is ElementKind.PTX:
            text = cubin_bytes(elf.data, piece)
            assert f".target {piece.architecture}".encode() in text
    starts = {region.offset for region in code.regions}
    assert {wrapper.region_offset for wrapper in read_wrappers(elf)} <= starts
    return code


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_libraries_match_the_oracle(layout: str, compiled: Callable[[str], Path]) -> None:
    path = compiled(layout)
    elf, code = read_elf(path), check_library(path)
    cubins = [
        read_cubin(cubin_bytes(elf.data, p))
        for p in pieces(code)
        if isinstance(p, Element) and p.kind is ElementKind.ELF
    ]
    symbols = listed_symbols(path)
    kernels = [name for kind, other, _, name in symbols if kind == "FUNC" and other == "ENTRY"]
    assert sorted(kernel for c in cubins for kernel in c.kernels) == sorted(kernels)
    assert len(read_wrappers(elf)) == len(code.regions) == 1
    if layout not in ("ptx_only", "lto"):
        assert {"scale", "_Z5primePi", "_Z3addIiEvPT_S0_"} <= set(kernels)


def test_layouts_differ_as_their_flags_say(compiled: Callable[[str], Path]) -> None:
    """The layouts above cover each compression, both variants and the linkable kind."""
    seen = set()
    for layout in ("compressed_none", "compressed_size", "compressed_speed", "family", "lto"):
        code = find_gpu_code(read_elf(compiled(layout)))
        for element in (e for region in code.regions for e in region.elements):
            seen |= {element.compression, element.architecture.variant, element.kind}
    assert seen == {
        "none",
        "zstd",
        "lz4",
        "",
        "a",
        "f",
        ElementKind.PTX,
        ElementKind.ELF,
        ElementKind.LTO_IR,
    }


def test_cubins_compressed_as_one_are_one_element(tmp_path: Path) -> None:
    """fatbinary joins cubins of several architectures as it sees fit; cuobjdump lists each."""
    flags = ["-Xfatbin=-concat", "-gencode=arch=compute_90,code=sm_90", *LAYOUTS["compressed_size"]]
    path = nvcc(tmp_path / "concat.so", KERNELS, "-shared", "-Xcompiler=-fPIC", *flags)
    elf = read_elf(path)
    elements = [piece for piece in pieces(find_gpu_code(elf)) if isinstance(piece, Element)]
    assert {element.kind for element in elements} >= {ElementKind.PTX, ElementKind.CONCATENATED}
    cubins = [cubin_bytes(elf.data, e).count(b"\x7fELF\x02\x01\x01") for e in elements]
    assert max(cubins) > 1
    assert sum(cubins) == listed_elements(path).total() - 1


@pytest.mark.parametrize("folder", ["cu13", "curand"], ids=["cuda13", "cuda12"])
def test_curand_matches_the_oracle(folder: str) -> None:
    code = check_library(TOOLKIT.parent / folder / "lib/libcurand.so.10")
    assert len(pieces(code)) > 150


def test_code_outside_the_known_sections_is_found() -> None:
    path = TOOLKIT / "lib/libcurand.so.10"
    elf = read_elf(path)
    data = elf.section(".data")
    assert data is not None
    inside = [r for r in find_gpu_code(elf).regions if data.offset <= r.offset < data.end]
    assert len(inside) == 1747


@pytest.mark.large
@pytest.mark.parametrize("pattern", LARGE)
@pytest.mark.parametrize("cuda", ["12", "13"])
def test_large_libraries_match_the_oracle(cuda: str, pattern: str) -> None:
    found = sorted((CUDA / "large" / cuda).rglob(pattern))
    if not found:
        pytest.skip(f"needs {pattern} in build/cuda/large/{cuda}: make deps-cuda-large")
    assert pieces(check_library(found[0]))


@pytest.mark.large
def test_a_library_of_cuda_11_decodes() -> None:
    """Today's cuobjdump refuses sm_35: each cubin has to say what its element's header says."""
    found = sorted((CUDA / "large" / "11").rglob("libcurand.so*"))
    if not found:
        pytest.skip("needs libcurand.so in build/cuda/large/11: make deps-cuda-large")
    elf = read_elf(found[0])
    elements = [e for region in find_gpu_code(elf).regions for e in region.elements]
    cubins = [e for e in elements if e.kind is ElementKind.ELF]
    assert (len(elements), len(cubins)) == (109, 99)
    assert {e.architecture.number for e in cubins} == {35, 50, 60, 70, 75, 80, 86, 89, 90}
    for element in elements:
        program = cubin_bytes(elf.data, element)
        if element.kind is ElementKind.ELF:
            cubin = read_cubin(program)
            assert cubin.architecture == element.architecture
        else:
            assert program.lstrip().startswith((b"//", b".version"))
