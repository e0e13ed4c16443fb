"""Matrix multiplication, the second probing task of HEATS (Rocha's thesis, section 3.3.1)."""

import argparse

import numpy as np
from threadpoolctl import threadpool_limits

from trimtab.workloads.common.command import positive

SIZE = 1_024


def run(iterations: int, workers: int, seed: int = 0) -> float:
    """Multiply two SIZE x SIZE matrices `iterations` times; return the last product's norm.

    Every product is the next one's left factor, scaled back to the norm of the first.
    """
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(2, SIZE, SIZE))
    norm = float(np.linalg.norm(left))
    with threadpool_limits(workers):
        for _ in range(iterations):
            product = left @ right
            last = float(np.linalg.norm(product))
            left = product * (norm / last)
    return last


def main() -> None:
    """Run it and print the norm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=positive, required=True)
    parser.add_argument("--workers", type=positive, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"norm {run(options.iterations, options.workers, options.seed):.6e}")


if __name__ == "__main__":
    main()
