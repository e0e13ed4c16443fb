"""Preemptive repeat with resampling: an interrupted job restarts with a new service time."""

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.taylor import Taylor
from trimtab.queueing.transforms import Points, Repeating, moments_series


class Resampling(Repeating):
    """Interrupted jobs restart with a new, independent service time (preemptive repeat different).

    With b the transform of a service time, interruptions at rate a and w = sigma_k(u), the time
    from the first start to the end has at u the transform b(u + a) / (b(u + a) + w (1 - b(u + a)) /
    (u + a)). See Conway, Maxwell and Miller, Theory of Scheduling, section 8-6; Jaiswal, Priority
    Queues, 1968.
    """

    def attempts_s(self, k: int) -> float:
        """Return the server's mean time for a job of class `k`, over all attempts."""
        service, rate = self._queue.services[k], self._queue.rate_above(k)
        return (1 / service.moment(0, -rate) - 1) / rate if rate else service.mean

    def execution_s(self, k: int) -> float:
        """Return the mean time of the attempt that finishes: short ones finish more often."""
        service, rate = self._queue.services[k], self._queue.rate_above(k)
        return service.moment(1, -rate) / service.moment(0, -rate)

    def _complete(
        self,
        k: int,
        u: Points,
        w: Points,
        times: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> Points:
        v = u + self._queue.rate_above(k)
        unbroken = self._queue.services[k].laplace(v)
        return np.asarray(unbroken / (unbroken + w / v * (1 - unbroken)))

    def _complete_series(self, k: int, sigma: Taylor) -> Taylor:
        service, rate, order = self._queue.services[k], self._queue.rate_above(k), sigma.order
        if not rate:
            return moments_series(service, order)
        unbroken = Taylor.of_moments([service.moment(j, -rate) for j in range(order + 1)])
        broken = sigma / (Taylor.variable(order) + rate) * (1 - unbroken)
        return unbroken / (unbroken + broken)

    def _nodes(self, k: int, s: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.zeros(0), np.zeros(0)
