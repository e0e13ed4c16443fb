"""What a call of an enclave costs, and what a second worker gives the task programs.

    python benchmarks/enclave_calls.py [--name enclave_calls]

Calls that do nothing, with 64 bytes in and out, one after the other, in rounds of which each is one
mean. The speed-up of *ompss* is the run time of one worker over that of two, in turns, for tasks of
50 us or more; what a task takes is the run time of *original* by its tasks. Both need two cores
that nobody else uses; the load of the machine before is kept beside the figures. Writes
benchmarks/results/NAME.json.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from common import save, spread

from trimtab.native import native_path
from trimtab.places import PROJECT

SOURCES = PROJECT / "native/secure_tasks"
PARTS = (
    "enclave", "inside", "sealing", "secret_memory", "confine", "process", "pkeys", "modelled",
    "sgx",
)  # fmt: skip
CALLS = {"pkeys": 100_000, "process": 5_000}
BARS_US = {"pkeys": 0.5, "process": 10.0}
SIZES = {"matmul": (1024, 64), "cholesky": (1536, 64)}  # a side, and a tile's
PAIRS = 9
BAR_SPEED_UP, BAR_TASK_US = 1.7, 50.0


def call_cost(kind: str, folder: Path) -> dict[str, object]:
    """Microseconds of a call of one kind of enclave, or why there is none here."""
    program = folder / "enclave_call"
    sources = [PROJECT / "benchmarks/native/enclave_call.c"]
    sources += [SOURCES / f"{part}.c" for part in PARTS]
    subprocess.run(["gcc", "-O2", "-pthread", "-I", SOURCES, "-o", program, *sources], check=True)
    done = subprocess.run([program, kind, str(CALLS[kind])], capture_output=True, text=True)
    if done.returncode == 77:
        return {"not_measured": done.stdout.strip()}
    done.check_returncode()
    return {**spread([float(line) / 1e3 for line in done.stdout.split()]), "bar_us": BARS_US[kind]}


def run_s(program: str, variant: str, workers: int) -> tuple[float, int]:
    """The run time of a program, and its number of tasks."""
    size, block = SIZES[program]
    words = ["--size", size, "--block", block, "--variant", variant, "--workers", workers]
    done = subprocess.run(
        [native_path(f"trimtab-task-{program}"), *map(str, words)],
        capture_output=True,
        check=True,
        env={**os.environ, "OMP_PROC_BIND": "true"},
    )
    line = json.loads(done.stdout)
    return line["run_s"], line["tasks"]


def speed_up(program: str) -> dict[str, object]:
    """One worker over two, in turns."""
    original_s, tasks = run_s(program, "original", 1)
    one_s, two_s = [], []
    for _ in range(PAIRS):
        one_s.append(run_s(program, "ompss", 1)[0])
        two_s.append(run_s(program, "ompss", 2)[0])
    size, block = SIZES[program]
    return {
        "size": size,
        "block": block,
        "tasks": tasks,
        "task_us": original_s / tasks * 1e6,
        "bar_task_us": BAR_TASK_US,
        "one_worker_s": spread(one_s),
        "two_workers_s": spread(two_s),
        "speed_up": spread([one / two for one, two in zip(one_s, two_s, strict=True)]),
        "bar_speed_up": BAR_SPEED_UP,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="enclave_calls")
    name = parser.parse_args().name
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        calls_us = {kind: call_cost(kind, Path(folder)) for kind in CALLS}
    figures: dict[str, object] = {
        "load_before": load_before,
        "call_us": calls_us,
        "second_worker": {program: speed_up(program) for program in SIZES},
    }
    save(name, figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
