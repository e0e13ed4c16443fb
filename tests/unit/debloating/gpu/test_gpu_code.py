"""GPU code of libraries that nvcc compiled: spans, patches, and what NVIDIA's tool finds then."""

import hashlib
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from cuda_sources import KERNELS, library, listed_elements, needs_cuda_tools

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.gpu.fatbin import ElementKind, cubin_bytes, find_gpu_code
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.spans import GPU_REMOVED, SpanReason
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.debloating.gpu.gpu_code import GpuScope, gpu_scope_of, locate_gpu_code
from trimtab.errors import UserError
from trimtab.records.usage import Usage, UsedGpu, UsedLibrary, UsedModule

MODES = ("zero", "punch", "compact")


def usage(*modules: UsedModule, gpus: tuple[int, ...] = (90,), traced: bool = True) -> Usage:
    return Usage(
        workload="w", command=["w"], complete=True, incomplete_because=[], notes=[], processes=[],
        libraries=[], files=[], gpus=[UsedGpu(f"GPU {gpu}", gpu) for gpu in gpus],
        modules=list(modules), kernels_traced=traced,
        kernels_not_traced_because="" if traced else "no reason",
    )  # fmt: skip


def module(program: bytes, *kernels: str) -> UsedModule:
    return UsedModule(
        sha256=hashlib.sha256(program).hexdigest(), size_bytes=len(program),
        kernels=list(kernels), globals=[], enumerated=False, processes=[1],
    )  # fmt: skip


def slim(path: Path, target: GpuScope, output: Path, mode: str):  # type: ignore[no-untyped-def]
    elf = read_elf(path)
    functions = read_functions(elf)
    spans = locate(elf, functions, np.ones(len(functions), bool), keep_symbols=False)
    spans, gpu = locate_gpu_code(elf, spans, target)
    rewrite(elf, spans, mode, output, 4096, patches=gpu.patches)  # type: ignore[arg-type]
    return spans, gpu


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with cubins for sm_80 and sm_90a, and PTX, padded so that pages can leave it."""
    padding = 'extern "C" const char padding[1 << 16] = {1};\n'
    folder = tmp_path_factory.mktemp("compiled")
    return library(folder / "libkernels.so", "compressed_default", padding + KERNELS)


@needs_cuda_tools
@pytest.mark.parametrize("mode", MODES)
def test_what_another_gpu_needs_leaves(compiled: Path, tmp_path: Path, mode: str) -> None:
    assert listed_elements(compiled) == {
        ("ELF", "sm_80"): 1,
        ("ELF", "sm_90a"): 1,
        ("PTX", "sm_80"): 1,
    }
    spans, gpu = slim(compiled, GpuScope((90,)), tmp_path / "slim.so", mode)
    assert listed_elements(tmp_path / "slim.so") == {("ELF", "sm_90a"): 1}
    assert (gpu.elements_total, gpu.elements_kept) == (3, 1)
    assert gpu.bytes_kept < gpu.bytes_total
    removed = sum(spans.bytes_of(reason) for reason in GPU_REMOVED)
    assert gpu.bytes_total - gpu.bytes_kept == removed
    assert spans.kept_bytes + spans.removed_bytes == spans.size_bytes
    for piece in (code := find_gpu_code(read_elf(tmp_path / "slim.so"))).regions[0].elements:
        assert cubin_bytes(read_elf(tmp_path / "slim.so").data, piece)[:4] == b"\x7fELF"
    assert len(code.regions) == 1


@needs_cuda_tools
@pytest.mark.parametrize("mode", MODES)
def test_used_code_is_found_by_its_digest(compiled: Path, tmp_path: Path, mode: str) -> None:
    elf = read_elf(compiled)
    element = next(
        e for e in find_gpu_code(elf).regions[0].elements
        if e.kind is ElementKind.ELF and e.architecture.number == 80
    )  # fmt: skip
    used = module(cubin_bytes(elf.data, element), "scale")
    options = Debloat(name="x", remove=Remove.CODE)
    target = gpu_scope_of(options, [usage(used, gpus=(80,))], [])
    assert target.gpus == (80,)
    spans, gpu = slim(compiled, target, tmp_path / "slim.so", mode)
    assert listed_elements(tmp_path / "slim.so") == {("ELF", "sm_80"): 1}
    assert gpu.decisions is not None and gpu.decisions.kernels == {"scale"}
    assert spans.bytes_of(SpanReason.GPU_ARCHITECTURE) and spans.bytes_of(SpanReason.GPU_PTX)


@needs_cuda_tools
def test_nothing_used_leaves_nothing(compiled: Path, tmp_path: Path) -> None:
    target = gpu_scope_of(
        Debloat(name="x", remove=Remove.CODE, fallback="none"), [usage(gpus=(80,))], []
    )
    _, gpu = slim(compiled, target, tmp_path / "slim.so", "compact")
    assert gpu.elements_kept == 0
    assert listed_elements(tmp_path / "slim.so") == Counter()


@needs_cuda_tools
def test_unused_kernels_are_pruned_when_asked(tmp_path: Path) -> None:
    compiled = library(tmp_path / "libkernels.so", "compressed_size")
    elf = read_elf(compiled)
    element = find_gpu_code(elf).regions[0].elements[0]
    assert element.compression == "zstd"
    used = module(cubin_bytes(elf.data, element), "scale")
    options = Debloat(name="x", remove=Remove.CODE, kernels="prune", fallback="none")
    target = gpu_scope_of(options, [usage(used, gpus=(element.architecture.number,))], [])
    _, pruned = slim(compiled, target, tmp_path / "pruned.so", "compact")
    whole = GpuScope(target.gpus, target.use)
    _, kept = slim(compiled, whole, tmp_path / "kept.so", "compact")
    assert pruned.elements_kept == kept.elements_kept == 1
    assert pruned.bytes_kept < kept.bytes_kept


def test_what_gpu_code_is_kept_for() -> None:
    traced = [usage()]
    assert gpu_scope_of(Debloat(name="x", remove=Remove.CODE), traced, []).gpus == (90,)
    assert gpu_scope_of(Debloat(name="x", remove=Remove.CODE), traced, ["8.0", "sm_75"]).gpus == (
        75,
        80,
    )
    assert (
        gpu_scope_of(Debloat(name="x", remove=Remove.CODE, gpu="architecture"), traced, []).use
        is None
    )
    for kept in (
        gpu_scope_of(Debloat(name="x", remove=Remove.CODE, gpu="keep"), traced, []),
        gpu_scope_of(
            Debloat(name="x", remove=Remove.CODE, gpu="architecture"), [usage(gpus=())], []
        ),
        gpu_scope_of(Debloat(name="x", remove=Remove.CODE, fallback="none"), [usage(gpus=())], []),
        gpu_scope_of(Debloat(name="x", remove=Remove.CODE), [usage(), usage(traced=False)], []),
    ):
        assert kept.keeps_all and kept.why_all
    with pytest.raises(UserError, match="nine"):
        gpu_scope_of(Debloat(name="x", remove=Remove.CODE), traced, ["nine"])


@pytest.mark.parametrize("function", ["cuInit", "cuDeviceGet"])
def test_programs_that_asked_for_no_gpu_used_no_gpu_code(tmp_path: Path, function: str) -> None:
    """The function tracer tells what of the driver ran, wherever the kernel tracer had no GPU."""
    driver, code = tmp_path / "libcuda.so.1", tmp_path / "driver.c"
    code.write_text("int cuInit(void) { return 0; } int cuDeviceGet(void) { return 0; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", driver, code], check=True)
    elf = read_elf(driver)
    names, starts = function_names(elf), read_functions(elf).start.tolist()
    ran = [start for start in starts if names.of(start) == function]
    library = UsedLibrary(
        path=str(driver), build_id=elf.build_id, size_bytes=elf.size_bytes, traced=True,
        not_traced_because="", functions_total=len(starts), functions_used=1, used_functions=ran,
    )  # fmt: skip
    without_gpu = usage(gpus=(), traced=False)
    scope = gpu_scope_of(
        Debloat(name="x", remove=Remove.CODE),
        [without_gpu.model_copy(update={"libraries": [library]})],
        [],
    )
    assert scope.keeps_all == (function == "cuDeviceGet")
    assert scope.gpus == () and scope.put_back != scope.keeps_all
