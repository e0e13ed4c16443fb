"""Two real traces of GPU code, recorded on an H200 (driver 580, CUDA 13.0, CUPTI 13.0).

`mobilenetv2_training_h200`: three steps of torchvision's MobileNetV2 with Adam, PyTorch 2.11.
`cupy_raw_kernel_h200`: a kernel of the program's own, `twice_of_ours`, compiled by NVRTC, and a
few array operations, CuPy 14.2. The files are as the processes left them, but compressed.
`driver_functions.json`: which functions of the driver ran, in programs of PyTorch, CuPy, JAX, Numba
and Triton that used a GPU (H100), asked for one, or had all GPUs hidden from them.
"""

import gzip
import json
from pathlib import Path

import pytest

from trimtab.profiling.tracing.kernel_records import read_kernel_records
from trimtab.profiling.tracing.kernels import KernelTrace, asks_for_gpu, read_kernel_trace
from trimtab.records.usage import UsedGpu

DATA = Path(__file__).parent / "data"


def recorded(name: str, folder: Path) -> KernelTrace:
    text = gzip.decompress((DATA / f"{name}_h200.txt.gz").read_bytes())
    (folder / "kernels-1-1.txt").write_bytes(text)
    return read_kernel_trace(folder)


@pytest.mark.parametrize("name", ["mobilenetv2_training", "cupy_raw_kernel"])
def test_the_trace_is_whole(name: str, tmp_path: Path) -> None:
    trace = recorded(name, tmp_path)
    assert (trace.traced, trace.incomplete_because) == (True, [])
    assert trace.gpus == [UsedGpu("NVIDIA H200", 90)]
    (record,) = read_kernel_records(tmp_path)
    given = {kernel for module in trace.modules for kernel in module.kernels}
    assert given == record.kernels
    for module in trace.modules:
        assert module.kernels or module.globals, "a module that nothing was asked of"


def test_a_training_run_loads_few_modules_of_the_libraries(tmp_path: Path) -> None:
    *_, fill = [
        module
        for module in recorded("mobilenetv2_training", tmp_path).modules
        if any("vectorized_elementwise_kernelILi4ENS0_11FillFunctorIf" in k for k in module.kernels)
    ]
    trace = read_kernel_trace(tmp_path)
    nameless, *loaded = trace.modules
    assert (len(loaded), len({k for m in trace.modules for k in m.kernels})) == (34, 89)
    assert fill.size_bytes == 2171336
    constants = [module.globals for module in loaded if not module.kernels]
    assert constants == [["_ZN6cublas8internal15deviceConstantsE"]]
    # cuBLASLt looks these up and launches none: no module was loaded for them.
    assert nameless.sha256 == ""
    assert len(nameless.kernels) == 3
    assert all("cutlass_80" in kernel for kernel in nameless.kernels)


def test_a_kernel_compiled_at_run_time_is_a_module_of_its_own(tmp_path: Path) -> None:
    trace = recorded("cupy_raw_kernel", tmp_path)
    assert [m.kernels for m in trace.modules if "twice_of_ours" in m.kernels] == [["twice_of_ours"]]
    assert all(module.sha256 for module in trace.modules)


@pytest.mark.parametrize(
    ("program", "functions"), json.loads((DATA / "driver_functions.json").read_text()).items()
)
def test_a_program_from_which_gpus_are_hidden_asks_for_none(
    program: str, functions: list[str]
) -> None:
    used = program.endswith(("gpu", "asked only"))
    assert "cuInit" in functions
    assert asks_for_gpu([None, *functions]) == used
