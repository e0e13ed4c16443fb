"""Estimates of batch times from a few measured ones: for one model, on this machine.

Thesis, section 7.5.4, reports the error of such estimates. A batch takes a fixed time and a time
for each sample, which change with caches and kernels. So the time is piecewise linear in the batch
size, and the last piece is extrapolated. By cores, it has a parallel and a serial part (Amdahl),
fitted for each batch size. A share of the CPUs' time divides the speed. Being stopped costs extra,
more for small batches. It depends on the machine and the program, so it is interpolated between the
sizes that were measured under the share.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from trimtab.errors import UserError

Measured = Mapping[tuple[int, int], float]  # s of a batch, by its size and the number of cores
# The slowdown of a batch against full speed, by its size, number of cores and share of the time.
Slowed = Mapping[tuple[int, int, float], float]


@dataclass(frozen=True)
class BatchTimes:
    """The batch times of one model, estimated from the `measured` ones.

    There are at least two batch sizes, each measured with the same numbers of cores; else raises
    UserError. Under a share of the time that is not in `slowed`, a batch takes 1 / share as long.
    """

    measured: Measured
    slowed: Slowed = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = {size for size, _ in self.measured}
        cores = {count for _, count in self.measured}
        if len(sizes) < 2 or len(self.measured) != len(sizes) * len(cores):
            raise UserError(
                f"batches of {len(sizes)} sizes on {len(cores)} numbers of cores, "
                f"{len(self.measured)} times: expected two sizes at least, each with all numbers"
            )
        if not all(math.isfinite(time_s) and time_s > 0 for time_s in self.measured.values()):
            raise UserError(f"times of batches: {dict(self.measured)}: expected seconds above 0")

    def batch_s(self, size: int, cores: int, cpu_share: float = 1.0) -> float:
        """Return the time of a batch."""
        sizes = sorted({size for size, _ in self.measured})
        below, above = sizes[0], sizes[1]
        for left, right in pairwise(sizes):
            if size > left:
                below, above = left, right
        low_s, high_s = (self._on_cores(one, cores) for one in (below, above))
        time_s = low_s + (high_s - low_s) * (size - below) / (above - below)
        return max(time_s, _LEAST_SHARE * low_s) * self._slower(size, cores, cpu_share)

    def _slower(self, size: int, cores: int, cpu_share: float) -> float:
        """Return the slowdown of a batch against full speed."""
        tried = {one: by for (one, on, share), by in self.slowed.items()
                 if (on, share) == (cores, cpu_share)}  # fmt: skip
        if not tried:
            return 1 / cpu_share
        sizes = sorted(tried)
        return float(np.interp(math.log(size), np.log(sizes), [tried[one] for one in sizes]))

    def _on_cores(self, size: int, cores: int) -> float:
        """Return the time of a measured size on any number of cores."""
        times = {count: self.measured[size, count] for one, count in self.measured if one == size}
        if cores in times:
            return times[cores]
        fewest, most = min(times), max(times)
        if fewest == most:
            return times[fewest]
        parallel_s = (times[fewest] - times[most]) / (1 / fewest - 1 / most)
        return times[fewest] + parallel_s * (1 / cores - 1 / fewest)


_LEAST_SHARE = 0.01  # of a measured time: inconsistent times are not extrapolated to 0
