"""A CUDA driver and a CUPTI that are none: libraries that raise the events the real ones raise.

They show that the tracer's libraries see and record these events. What the real ones raise is
shown by the recorded traces in `data/`.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from trimtab.profiling.tracing import kernels
from trimtab.profiling.tracing.kernels import kernel_tracing_environment

_SOURCES = Path(__file__).parents[3] / "native"


@dataclass(frozen=True)
class StandIns:
    """The folder with the stand-ins and the program that uses them."""

    folder: Path

    def run(
        self,
        record: Path,
        *actions: str,
        own_profiler: bool = False,
        environment: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> int:
        """Run the program's `actions`, traced into `record`, and return its exit status.

        `prefix` is a command that ends up in running its arguments.
        """
        library_path = {"LD_LIBRARY_PATH": str(self.folder)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "cuda_major", lambda: 13)
            traced = kernel_tracing_environment(
                os.environ | library_path, record, self.folder / "bin/python", own_profiler
            )
        command: list[str | Path] = [*prefix, self.folder / "program", *actions]
        return subprocess.run(command, env=traced | (environment or {}), timeout=60).returncode


def build_stand_ins(folder: Path) -> StandIns:
    """Compile the stand-ins into `folder`, which looks like a Python environment with CUPTI."""
    cupti = folder / "lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13"
    cupti.parent.mkdir(parents=True)

    def compile_c(source: str, output: Path, *options: str) -> None:
        command: list[str | Path] = ["gcc", "-O1", "-g", "-o", output, _SOURCES / source, *options]
        subprocess.run(command, check=True)

    compile_c("stand_in_cupti.c", cupti, "-shared", "-fPIC")
    driver = folder / "libcuda.so.1"
    # Like the real driver, it uses its own functions, whatever stands before them.
    linking = "-Wl,-soname,libcuda.so.1,-Bsymbolic"
    compile_c("stand_in_driver.c", driver, "-shared", "-fPIC", linking, "-ldl")
    compile_c("stand_in_program.c", folder / "program", str(driver), "-ldl")
    return StandIns(folder)
