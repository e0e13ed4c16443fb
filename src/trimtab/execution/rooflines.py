"""Measures this host's performance by number of cores: the `rooflines` of its YAML."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from trimtab.errors import UserError

NAME = "roofline"
_MODULE = f"trimtab.workloads.probes.{NAME}"
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def rooflines(cpus: Sequence[int], timeout_s: float = 600.0) -> list[dict[str, float]]:
    """Return `cores`, `gflop_per_s`, `gb_per_s` and `call_us` for 1, 2, ... of `cpus`.

    Raises UserError when the kernels fail or take longer than `timeout_s`.
    """
    return [_with(cpus[:count], timeout_s) for count in range(1, len(cpus) + 1)]


def _with(cpus: Sequence[int], timeout_s: float) -> dict[str, float]:
    count = str(len(cpus))
    command = [sys.executable, "-m", _MODULE, "--workers", count]
    environment = {**os.environ, **dict.fromkeys(_THREAD_COUNTS, count), "CUDA_VISIBLE_DEVICES": ""}
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)  # the kernels inherit it
        run = subprocess.run(
            command, env=environment, timeout=timeout_s, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"probing task {NAME}: took longer than {timeout_s:g} s") from None
    finally:
        os.sched_setaffinity(0, before)
    if run.returncode != 0:
        said = run.stderr.strip().splitlines()
        raise UserError(f"probing task {NAME}: {said[-1] if said else run.returncode}")
    figures = json.loads(run.stdout)
    return {"cores": len(cpus), **{name: float(f"{value:.4g}") for name, value in figures.items()}}
