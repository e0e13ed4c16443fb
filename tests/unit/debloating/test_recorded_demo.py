"""The demo as it was traced on an H200: one of its library's two kernels was used.

tests/gpu/test_demo.py made the library and the record, with CUDA 13.0's compiler.
"""

import ctypes
import lzma
import venv
from dataclasses import replace
from pathlib import Path

import pytest
from cuda_sources import TOOLKIT, listed_elements

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.gpu.fatbin import ElementKind, find_gpu_code
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.config.groups.workload import Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.gpu.elements import ElementReason
from trimtab.debloating.libraries.reconstruct import reconstruct
from trimtab.records.library_spans import LibrarySpans
from trimtab.records.manifest import Manifest, RunTimeModule
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES
from trimtab.records.usage import Usage, UsedGpu, UsedModule
from trimtab.records.used import UsedCodeByLibrary

DATA = Path(__file__).parent / "data"
MATMUL = "_Z12matrixMulGPUPKiS0_Pii"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment that holds the library, and beside it the record that names it."""
    folder = tmp_path / "env"
    venv.create(folder, symlinks=True)
    library = folder / "lib" / "libdemo.so"
    library.write_bytes(lzma.decompress((DATA / "libdemo_h200.so.xz").read_bytes()))
    usage = Usage.read(DATA / "demo_h200.json")
    (traced,) = usage.libraries
    moved = usage.model_copy(update={"libraries": [replace(traced, path=str(library))]})
    moved.write(tmp_path / "usage.json")
    return folder


def debloat(environment: Path, **options: str | int) -> Path:
    folder = environment.parent / "target"
    workload = Workload(name="demo", command=["python"], python=str(environment / "bin/python"))
    chosen = Debloat(name="x", remove=Remove.CODE, **options)  # type: ignore[arg-type]
    stage = DebloatStage("demo", "h200", [], [workload], chosen)
    debloat_target(stage, [environment.parent / "usage.json"], folder)
    return folder


def gpu_elements(path: Path) -> list[tuple[ElementKind, int]]:
    regions = find_gpu_code(read_elf(path)).regions
    return [(e.kind, e.architecture.number) for region in regions for e in region.elements]


def test_only_the_used_kernels_module_stays(environment: Path) -> None:
    original = environment / "lib/libdemo.so"
    # Two files, each for sm_80, sm_90 and as PTX, and what nvcc adds: an empty cubin for both GPUs.
    assert len(gpu_elements(original)) == 8
    folder = debloat(environment)
    row = read_table(folder / "libraries.parquet", LIBRARIES).iloc[0]
    assert (row["elements_before"], row["elements_after"]) == (8, 2)
    assert row["elements_architecture"] == 3 and row["elements_unused"] == 1
    assert row["elements_ptx"] == 2
    used = UsedCodeByLibrary.read(folder / "used.json").libraries["lib/libdemo.so"]
    assert used.kernels == {MATMUL}
    gpu_code = LibrarySpans.read(folder / "spans/lib__libdemo.so.json").gpu_code
    assert gpu_code and gpu_code.kernels == [MATMUL] and len(gpu_code.kept) == 2
    assert gpu_code.elements_by_reason[ElementReason.USED.text] == 1
    assert gpu_code.elements_by_reason[ElementReason.NO_KERNELS.text] == 1
    manifest = Manifest.read(folder / "manifest.json")
    assert manifest.gpus == [UsedGpu("NVIDIA H200", 90)]
    assert manifest.modules_made_at_run_time == []


def test_modules_of_no_library_were_made_at_run_time(environment: Path) -> None:
    record = environment.parent / "usage.json"
    usage = Usage.read(record)
    compiled = UsedModule("ab" * 32, 4096, ["triton_kernel"], [], False, [1])
    usage.model_copy(update={"modules": [*usage.modules, compiled]}).write(record)
    manifest = Manifest.read(debloat(environment) / "manifest.json")
    made = RunTimeModule(sha256="ab" * 32, size_bytes=4096, kernels=["triton_kernel"])
    assert manifest.modules_made_at_run_time == [made]


@pytest.mark.parametrize("mode", ["zero", "punch", "compact"])
def test_the_library_rebuilt_from_its_spans(environment: Path, mode: str) -> None:
    folder = debloat(environment, minimum_hole_bytes=8192)
    span = folder / "spans/lib__libdemo.so.json"
    rebuilt = reconstruct(span, environment.parent / mode, mode)
    # What the GPU could load stays listed: it is small, so its page stays, and the tool reads it.
    assert gpu_elements(rebuilt) == [(ElementKind.ELF, 90)] * 3
    ctypes.CDLL(str(rebuilt))  # its constructors hand the regions to the CUDA runtime
    if (TOOLKIT / "bin/cuobjdump").exists():
        assert listed_elements(rebuilt) == {("ELF", "sm_90"): 3}


def test_other_gpus_by_name(environment: Path) -> None:
    """For a GPU that was not traced on, a module that holds a used kernel's name is kept."""
    folder = environment.parent / "target"
    workload = Workload(name="demo", command=["python"], python=str(environment / "bin/python"))
    stage = DebloatStage(
        "demo", "h200", ["8.0", "9.0"], [workload], Debloat(name="x", remove=Remove.CODE)
    )
    debloat_target(stage, [environment.parent / "usage.json"], folder)
    rebuilt = reconstruct(
        folder / "spans/lib__libdemo.so.json", environment.parent / "both", "compact"
    )
    assert (
        sorted(gpu_elements(rebuilt)) == [(ElementKind.ELF, 80)] * 3 + [(ElementKind.ELF, 90)] * 3
    )


def test_keeping_all(environment: Path) -> None:
    row = read_table(debloat(environment, gpu="keep") / "libraries.parquet", LIBRARIES).iloc[0]
    assert row["gpu_bytes_after"] == row["gpu_bytes_before"] > 0
