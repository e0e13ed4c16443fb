"""K-means, as the jobs of HEATS' trace run it: blocks of the data set on worker threads.

Rocha's thesis, section 3.4.3: 65,536 points of 32 dimensions, for a given number of iterations.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from trimtab.workloads.common.command import positive

POINTS, DIMENSIONS, CLUSTERS = 65_536, 32, 16
_BLOCK = 2_048

Array = NDArray[np.float64]


def run(iterations: int, workers: int, seed: int = 0) -> tuple[Array, float]:
    """Return the centres [CLUSTERS, DIMENSIONS] after `iterations`, and the mean squared distance.

    Distances are to the centres before the last iteration. Results do not depend on `workers`, as
    blocks are summed in order.
    """
    rng = np.random.default_rng(seed)
    true_centres = rng.normal(scale=4.0, size=(CLUSTERS, DIMENSIONS))
    points = true_centres[rng.integers(CLUSTERS, size=POINTS)]
    points = points + rng.normal(size=(POINTS, DIMENSIONS))
    blocks = [points[start : start + _BLOCK] for start in range(0, POINTS, _BLOCK)]
    centres = points[rng.choice(POINTS, CLUSTERS, replace=False)]
    mean = np.nan
    with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
        for _ in range(iterations):
            parts = list(pool.map(_assign, blocks, [centres] * len(blocks)))
            counts = sum(count for _, count, _ in parts)
            sums = sum(total for total, _, _ in parts)
            mean = sum(distance for _, _, distance in parts) / POINTS
            occupied = np.maximum(counts, 1)[:, np.newaxis]
            centres = np.where(np.asarray(counts)[:, np.newaxis] > 0, sums / occupied, centres)
    return centres, float(mean)


def _assign(block: Array, centres: Array) -> tuple[Array, Array, float]:
    """Return the sum of the points next to each centre, their count, their squared distances."""
    nearness = block @ centres.T - (centres**2).sum(axis=1) / 2
    nearest = nearness.argmax(axis=1)
    member = np.zeros_like(nearness)
    member[np.arange(len(block)), nearest] = 1.0
    distance = (block**2).sum() - 2 * nearness.max(axis=1).sum()
    return member.T @ block, member.sum(axis=0), float(distance)


def main() -> None:
    """Run it and print the mean squared distance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=positive, required=True)
    parser.add_argument("--workers", type=positive, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    _, mean = run(options.iterations, options.workers, options.seed)
    print(f"mean squared distance {mean:.9f}")


if __name__ == "__main__":
    main()
