"""The demo, end to end on a GPU: a library with two kernels, of which the program uses one."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from trimtab.cli.doctor import missing
from trimtab.debloating.gpu.elements import ElementReason
from trimtab.records.library_spans import LibrarySpans
from trimtab.records.usage import Usage

DEMO = Path(__file__).parents[2] / "examples" / "demo"
CLI = "import sys; sys.argv[0] = 'trimtab'; from trimtab.cli.main import main; main()"
pytestmark = [
    pytest.mark.skipif(bool(reason := missing("NVIDIA GPU")), reason=reason),
    pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is missing: install NVIDIA's CUDA"),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "env"
    venv.create(folder, symlinks=True)
    subprocess.run([DEMO / "build.sh", folder], check=True)
    return folder


def trimtab(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-c", CLI, *arguments], check=True)


def demo(environment: Path, kernel: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin/python", DEMO / "demo.py", kernel],
        capture_output=True, text=True, env={**os.environ, **variables},
    )  # fmt: skip


def test_the_demo(environment: Path) -> None:
    workspace = environment.parent / "workspace"
    folder = ["--workspace", workspace]
    for kernel in ("matmul", "scalar"):
        assert demo(environment, kernel).stdout == "SUCCESS\n"
    python = environment / "bin/python"
    trimtab("debloat", *folder, "--runs", "1", "--", python, DEMO / "demo.py", "matmul")
    trimtab("verify", *folder, "--repeats", "2")
    usage = Usage.read(workspace / "usage.json")
    assert usage.kernels_traced
    assert {name for module in usage.modules for name in module.kernels} == {
        "_Z12matrixMulGPUPKiS0_Pii"
    }
    gpu_code = LibrarySpans.read(workspace / "spans/lib__libdemo.so.json").gpu_code
    assert gpu_code is not None
    by_reason = gpu_code.elements_by_reason
    assert by_reason[ElementReason.USED.text] == 1
    assert by_reason[ElementReason.ARCHITECTURE.text] >= 2  # sm_80, of each file
    assert by_reason[ElementReason.UNUSED.text] >= 1  # setScalarItems for this GPU
    slim = workspace / "env"
    for loading in ("LAZY", "EAGER"):
        assert demo(slim, "matmul", CUDA_MODULE_LOADING=loading).stdout == "SUCCESS\n"
        removed = demo(slim, "scalar", CUDA_MODULE_LOADING=loading)
        assert removed.returncode == 1 and "RuntimeError" in removed.stderr, removed

    rebuilt = environment.parent / "reconstructed"
    span = workspace / "spans/lib__libdemo.so.json"
    trimtab(
        "advanced", "reconstruct", "--span-path", span, "--output-dir", rebuilt, "--mode", "zero"
    )
    library = environment / "lib/libdemo.so"
    assert (rebuilt / "libdemo.so").stat().st_size == library.stat().st_size
    kept = library.rename(library.with_suffix(".original"))
    shutil.copy(rebuilt / "libdemo.so", library)
    assert demo(environment, "matmul").stdout == "SUCCESS\n"
    kept.replace(library)
