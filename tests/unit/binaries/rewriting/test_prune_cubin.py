import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cuda_sources import CALLS, EXTERNAL, TOOLKIT, library, needs_cuda_tools, nvcc, run

from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.gpu.cubin import read_cubin
from trimtab.binaries.gpu.fatbin import Element, ElementKind, GpuCode, cubin_bytes, find_gpu_code
from trimtab.binaries.rewriting.prune_cubin import prune_element
from trimtab.binaries.rewriting.regions import rewrite_regions

pytestmark = needs_cuda_tools
COMPRESSED = ["compressed_size", "compressed_speed"]  # zstd, lz4
Compiled = Callable[[str], Path]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    folder = tmp_path_factory.mktemp("pruned")
    return cache(lambda layout: library(folder / f"{layout}.so", layout))


def cubins(code: GpuCode) -> list[Element]:
    return [e for region in code.regions for e in region.elements if e.kind is ElementKind.ELF]


def largest(elf: Elf) -> Element:
    return max(cubins(find_gpu_code(elf)), key=lambda element: element.uncompressed_bytes)


def pruned_library(source: Path, used: str, target: Path) -> tuple[Element, Element]:
    """Prune the largest cubin and write the library; return the element before and after."""
    elf = read_elf(source)
    code, element = find_gpu_code(elf), largest(elf)
    pruned = prune_element(elf.data, element, [used])
    assert pruned is not None
    every = {e.offset for region in code.regions for e in region.elements}
    rewritten = rewrite_regions(elf.data, code, every, {element.offset: pruned.element})
    data = bytearray(elf.data.tobytes())
    for patch in rewritten.patches:
        data[patch.offset : patch.end] = patch.data.tobytes()
    for start, end in zip(rewritten.free_start, rewritten.free_end, strict=True):
        data[start:end] = bytes(int(end - start))
    target.write_bytes(data)
    after = next(e for e in cubins(find_gpu_code(read_elf(target))) if e.offset == element.offset)
    return element, after


@pytest.mark.parametrize("layout", COMPRESSED)
def test_code_of_unused_kernels_becomes_zeros_and_nothing_else_changes(
    compiled: Compiled, tmp_path: Path, layout: str
) -> None:
    target = tmp_path / "pruned.so"
    element, after = pruned_library(compiled(layout), "scale", target)
    before = read_cubin(cubin_bytes(read_elf(compiled(layout)).data, element))
    now = read_cubin(cubin_bytes(read_elf(target).data, after))
    assert after.payload_bytes < element.payload_bytes
    assert (after.uncompressed_bytes, after.compression) == (
        element.uncompressed_bytes,
        element.compression,
    )
    assert [name for name in now.kernels if not name.startswith("#")] == ["scale"]
    assert sorted(name[1:] for name in now.kernels if name != "scale") == sorted(
        name[1:] for name in before.kernels if name != "scale"
    )
    for number, name in enumerate(before.section_names):
        changed = before.content(number) != now.content(number)
        if name.startswith(".text.") and name != ".text.scale":
            assert changed and not any(now.content(number))
        else:
            assert not changed or name in (".strtab", ".shstrtab")


def test_the_oracle_disassembles_what_is_left(compiled: Compiled, tmp_path: Path) -> None:
    source, target = compiled("compressed_size"), tmp_path / "pruned.so"
    pruned_library(source, "scale", target)
    assert run("cuobjdump", "-lelf", str(target)).count("ELF file") == run(
        "cuobjdump", "-lelf", str(source)
    ).count("ELF file")
    dump = subprocess.run(
        [TOOLKIT / "bin/cuobjdump", "-symbols", target], capture_output=True, text=True, check=True
    )
    assert "scale" in dump.stdout and "_Z5primePi" in dump.stdout  # the latter in other elements


def test_a_pruned_element_is_not_pruned_again(compiled: Compiled, tmp_path: Path) -> None:
    target = tmp_path / "pruned.so"
    _, after = pruned_library(compiled("compressed_size"), "scale", target)
    assert prune_element(read_elf(target).data, after, ["scale"]) is None


def test_nothing_to_gain_is_said_so(compiled: Compiled) -> None:
    elf = read_elf(compiled("compressed_size"))
    element = largest(elf)
    every = read_cubin(cubin_bytes(elf.data, element)).kernels
    assert prune_element(elf.data, element, every) is None
    raw = read_elf(compiled("compressed_none"))
    assert prune_element(raw.data, largest(raw), ["scale"]) is None
    ptx = next(
        e for r in find_gpu_code(elf).regions for e in r.elements if e.kind is ElementKind.PTX
    )
    assert prune_element(elf.data, ptx, []) is None


def test_functions_that_a_used_kernel_calls_stay(tmp_path: Path) -> None:
    flags = ["-shared", "-Xcompiler=-fPIC", "-cudart=none", "-rdc=true", "-arch=sm_80"]
    source = CALLS.replace("extern __device__ float external(float);", EXTERNAL)
    path, target = tmp_path / "calls.so", tmp_path / "pruned.so"
    nvcc(path, source, *flags, "-Xfatbin=-compress-all")
    _, after = pruned_library(path, "_Z9calls_onePf", target)
    cubin = read_cubin(cubin_bytes(read_elf(target).data, after))
    left = {
        name
        for number, name in enumerate(cubin.section_names)
        if name.startswith(".text.") and any(cubin.content(number))
    }
    assert left == {".text._Z9calls_onePf", ".text._Z3onef"}


def test_kernels_that_would_get_the_same_name_are_left(tmp_path: Path) -> None:
    source = "".join(
        f'extern "C" __global__ void {name}(float *p) {{ *p = sinf(*p); }}' for name in ("ak", "bk")
    )
    elf = read_elf(library(tmp_path / "twins.so", "compressed_size", source))
    assert prune_element(elf.data, largest(elf), []) is None
