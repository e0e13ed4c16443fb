"""Micro-kernels of a machine's roofline (Williams et al. 2009): arithmetic, memory, and calls.

They use PyTorch if it is installed, as a model would, else NumPy.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from trimtab.workloads.common.command import positive

SIDE = 1_024  # of the matrices
TRIAD_NUMBERS = 1 << 24  # in each of three arrays: 192 MiB in total, more than most caches
CALLS = 2_000
_ROUND_S = 0.2


def measured(workers: int, rounds: int) -> dict[str, float]:
    """Return GFLOP/s, GB/s and microseconds per call: the least disturbed of `rounds`."""
    try:
        import torch
    except ImportError:
        with threadpool_limits(workers):
            return _of(np.ones, np.matmul, np.add, np.multiply, rounds)
    torch.set_num_threads(workers)
    with torch.inference_mode():
        return _of(torch.ones, torch.matmul, torch.add, torch.mul, rounds)


def _of(ones: Any, product: Any, add: Any, multiply: Any, rounds: int) -> dict[str, float]:
    names = {"dtype": np.float32} if ones is np.ones else {}
    left, right, result = (ones((SIDE, SIDE), **names) for _ in range(3))
    a, b, c = (ones(TRIAD_NUMBERS, **names) for _ in range(3))
    one, other = ones(1, **names), ones(1, **names)

    def triad() -> None:
        multiply(c, 3.0, out=a)  # reads one array and writes one
        add(a, b, out=a)  # reads two and writes one

    def calls() -> None:
        for _ in range(CALLS):
            add(one, other)

    return {
        "gflop_per_s": 2e-9 * SIDE**3 / _best_s(lambda: product(left, right, out=result), rounds),
        "gb_per_s": 1e-9 * 5 * 4 * TRIAD_NUMBERS / _best_s(triad, rounds),
        "call_us": 1e6 * _best_s(calls, rounds) / CALLS,
    }


def _best_s(kernel: Callable[[], Any], rounds: int) -> float:
    """Return the time of one call: the shortest mean over a round."""
    kernel()
    best_s = float("inf")
    for _ in range(rounds):
        count, began = 0, time.perf_counter()
        while (spent_s := time.perf_counter() - began) < _ROUND_S or count == 0:
            kernel()
            count += 1
        best_s = min(best_s, spent_s / count)
    return best_s


def main() -> None:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=positive, default=3, help="rounds of each kernel")
    parser.add_argument("--workers", type=positive, default=2)
    options = parser.parse_args()
    print(json.dumps(measured(options.workers, options.iterations)))


if __name__ == "__main__":
    main()
