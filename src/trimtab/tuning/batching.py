"""The batch size of inference: EdgeTune's batching (thesis, section 7.3.4).

Two scenarios: queries of N samples at fixed intervals, and single samples at random times, batched
while they wait. A queueing model derives response times from measured service times of batches. A
batch size that cannot keep up is saturated.
"""

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.bulk_service import mean_response_s
from trimtab.queueing.errors import UnstableQueueError

QUANTILES = np.linspace(0, 1, 33)
_ALIKE = 0.001  # relative difference of response times that is not worth more memory
_QUERIES = 20_000  # simulated, where service times vary


class ServiceTimes:
    """Service times of batches, in s: measured for some sizes, interpolated linearly between them.

    `measured` has at least one time for each size. Raises ValueError for a size below 1 and for an
    invalid time.
    """

    def __init__(self, measured: Mapping[int, Iterable[float]]) -> None:
        self.sizes = sorted(measured)
        self._quantiles = {}
        for size in self.sizes:
            times: NDArray[np.float64] = np.asarray(list(measured[size]), dtype=float)
            if size < 1 or not times.size or not ((times > 0) & np.isfinite(times)).all():
                raise ValueError(f"batches of {size}: {times.tolist()} s given, expected times")
            self._quantiles[size] = np.quantile(times, QUANTILES)
        if not self.sizes:
            raise ValueError("no times of any batch")

    def of(self, size: int) -> NDArray[np.float64]:
        """Return equally probable times of a batch, in rising order.

        A batch below the smallest measured size takes as long as that size. Raises ValueError above
        the largest.
        """
        if size in self._quantiles:
            return self._quantiles[size]
        at = bisect.bisect(self.sizes, size)
        if at == len(self.sizes):
            raise ValueError(f"batches of {size}: expected at most {self.sizes[-1]}")
        above = self.sizes[at]
        if at == 0:
            return self._quantiles[above]
        below = self.sizes[at - 1]
        share = (size - below) / (above - below)
        return (1 - share) * self._quantiles[below] + share * self._quantiles[above]


class Scenario(Protocol):
    """How samples arrive."""

    def response_s(self, size: int, times: ServiceTimes) -> float:
        """Return the mean time from a sample's arrival to the end of its batch, in s.

        Raises UnstableQueueError for a batch size that cannot keep up.
        """


@dataclass(frozen=True)
class ServerScenario:
    """Queries of `samples` every `period_s` seconds, processed in batches."""

    samples: int
    period_s: float

    def response_s(self, size: int, times: ServiceTimes) -> float:
        """Implement `Scenario.response_s`; a query waits until earlier ones have ended."""
        full, rest = divmod(self.samples, size)
        sizes = [size] * full + [rest] * bool(rest)
        generator = np.random.default_rng(0)
        draws = np.array([generator.choice(times.of(one), _QUERIES) for one in sizes])
        ends = draws.cumsum(axis=0)
        if sum(times.of(one).mean() for one in sizes) >= self.period_s:
            raise UnstableQueueError(f"batches of {size}: a query takes longer than the period")
        # Solution of Lindley's recursion: the random walk minus its running minimum.
        walk = np.concatenate([[0.0], (ends[-1] - self.period_s).cumsum()])
        waiting = walk - np.minimum.accumulate(walk)
        return float(waiting[:-1].mean() + np.average(ends.mean(axis=1), weights=sizes))


@dataclass(frozen=True)
class MultiStream:
    """Single samples of a Poisson process; a batch takes all waiting samples, up to its size."""

    samples_per_s: float

    def response_s(self, size: int, times: ServiceTimes) -> float:
        """Implement `Scenario.response_s`."""
        services = [times.of(one) for one in range(1, size + 1)]
        return mean_response_s(self.samples_per_s, services)


@dataclass(frozen=True)
class Choice:
    """The batch size with the shortest mean response time, and the saturated sizes."""

    size: int
    response_s: float
    saturated: tuple[int, ...]


def best_batch(scenario: Scenario, times: ServiceTimes, sizes: Iterable[int]) -> Choice:
    """Return the best of `sizes`; among sizes equal within 0.1 %, the smallest.

    Raises UnstableQueueError where all sizes are saturated.
    """
    responses, saturated = {}, []
    for size in sorted(sizes):
        try:
            responses[size] = scenario.response_s(size, times)
        except UnstableQueueError:
            saturated.append(size)
    if not responses:
        tried = ", ".join(map(str, saturated))
        raise UnstableQueueError(f"batches of {tried}: each is saturated by what arrives")
    shortest_s = min(responses.values())
    best = min(size for size, time_s in responses.items() if time_s <= shortest_s * (1 + _ALIKE))
    return Choice(best, responses[best], tuple(saturated))
