"""Delays and completion times in a queue of Poisson arrivals of several priorities.

The same formulas take two kinds of argument: complex points give Laplace transforms, and the power
series s gives moments. Classes are in the order of decreasing importance.

For the k most important classes, let sigma_k(s) = s + sum_i lambda_i (1 - E[exp(-s G_i)]). G_i is
the busy period of these classes that a job of class i begins. A time of x seconds, not counting
their work, has the transform exp(-sigma_k(s) x) (Takacs; Conway, Maxwell and Miller, Theory of
Scheduling, chapter 8).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.services import Service
from trimtab.queueing.taylor import Taylor

Points = NDArray[np.complex128]

_MOST_ROUNDS = 10_000
_MOST_EXTRAPOLATIONS = 200
_CONVERGED = 1e-13
_NEGLIGIBLE_EXPONENT = 37.0
_RADIANS_A_PANEL = 12.0


@dataclass(frozen=True, eq=False)
class PoissonQueue:
    """The arrival rates, 1/s, and the service times by class, the most important first."""

    rates: tuple[float, ...]
    services: tuple[Service, ...]

    def rate_above(self, k: int) -> float:
        """The rate of arrivals more important than class `k`, 1/s."""
        return math.fsum(self.rates[:k])


def fixed_point(step: Callable[[Points, NDArray[np.int64]], Points], start: Points) -> Points:
    """Return x, (n, m), with step(x, columns) = x, for a map of the discs |x| <= 1 into themselves.

    `step` takes and returns the columns with the numbers `columns`; each is a separate system.
    Every third point is extrapolated (Aitken), element by element, where it stays in the disc. The
    iteration converges from any point in it (Earle and Hamilton). Columns that rounding keeps from
    converging within 200 extrapolations continue without them.
    """
    result, moving = start.copy(), np.arange(start.shape[1])
    x = start
    for number in range(_MOST_ROUNDS):
        first = step(x, moving)
        change = first - x
        result[:, moving] = first
        far = np.abs(change).max(axis=0, initial=0.0) > _CONVERGED
        moving, x, first, change = moving[far], x[:, far], first[:, far], change[:, far]
        if not moving.size:
            return result
        if number > _MOST_EXTRAPOLATIONS:
            x = first
            continue
        second = step(first, moving)
        bend = second - 2 * first + x
        safe = np.abs(bend) > 1e-280
        jump = np.where(safe, x - change**2 / np.where(safe, bend, 1.0), second)
        x = np.where(np.abs(jump) <= 1, jump, second)
    raise ArithmeticError("the busy period's transform did not converge")


class Resuming:
    """Interrupted jobs resume, so only the work of the classes counts."""

    def __init__(self, queue: PoissonQueue) -> None:
        self._queue = queue

    def delay(self, k: int, s: Points) -> Points:
        """Return sigma_k at points s, 1/s, (n,)."""
        rates, services = self._queue.rates[:k], self._queue.services[:k]
        total = math.fsum(rates)
        if not total:
            return s

        def step(busy: Points, columns: NDArray[np.int64]) -> Points:
            at = s[columns] + total * (1 - busy)
            parts = [r * b.laplace(at) for r, b in zip(rates, services, strict=True)]
            return np.asarray(sum(parts) / total)

        return np.asarray(s + total * (1 - fixed_point(step, np.zeros_like(s[None]))[0]))

    def delay_and_completion(self, k: int, s: Points) -> tuple[Points, Points]:
        """Return sigma_k, and the transform of the time from class k's first start to its end."""
        sigma = self.delay(k, s)
        return sigma, self._queue.services[k].laplace(sigma)

    def delay_series(self, k: int, order: int) -> Taylor:
        """Return sigma_k as a power series."""
        s = Taylor.variable(order)
        work = s
        for rate, service in zip(self._queue.rates[:k], self._queue.services[:k], strict=True):
            work = work - rate * (1 - moments_series(service, order))
        return work.inverse()

    def series(self, k: int, order: int) -> tuple[Taylor, Taylor]:
        """Return the same two as power series."""
        sigma = self.delay_series(k, order)
        return sigma, moments_series(self._queue.services[k], order)(sigma)


class Repeating:
    """Interrupted jobs restart with the same service time (preemptive repeat identical).

    A job of x seconds, interrupted at rate a, has at argument u the transform
    1 / (1 + w (exp((u + a) x) - 1) / (u + a)) with w = sigma_k(u). See Gaver, A waiting line with
    interrupted service, including priorities, Journal of the Royal Statistical Society B 24,
    1962; Jaiswal, Priority Queues, 1968.
    """

    def __init__(self, queue: PoissonQueue) -> None:
        self._queue = queue

    def delay_and_completion(self, k: int, s: Points) -> tuple[Points, Points]:
        """Return sigma_k, and the transform of the time from class k's first start to its end.

        At points s, 1/s, (n,), with positive real parts; points of equal real part share nodes.
        """
        sigma, completion = np.empty_like(s), np.empty_like(s)
        for real in np.unique(s.real):
            row = s.real == real
            sigma[row] = self._solve(k, s[row])
            completion[row] = self._complete(k, s[row], sigma[row], *self._nodes(k, s[row]))
        return sigma, completion

    def series(self, k: int, order: int) -> tuple[Taylor, Taylor]:
        """Return the same two as power series: sigma_k is sigma_(k-1) of an inverse function."""
        s = Taylor.variable(order)
        sigma = s
        for lower in range(k):
            completion = self._complete_series(lower, sigma)
            sigma = sigma((s - self._queue.rates[lower] * (1 - completion)).inverse())
        return sigma, self._complete_series(k, sigma)

    def attempts_s(self, k: int) -> float:
        """Return the server's mean time for a job of class `k`, over all attempts."""
        service, rate = self._queue.services[k], self._queue.rate_above(k)
        return (service.moment(0, rate) - 1) / rate if rate else service.mean

    def _solve(self, k: int, s: Points) -> Points:
        """Return sigma_k at points of one real part.

        The busy periods' transforms b_i solve b_i = completion_i(u_i) together, with
        u_i = s + sum of lambda_j (1 - b_j) over i <= j < k. As sigma_i(u_i) is equal for all i,
        sigma_k(s) = u_0.
        """
        rates = np.array(self._queue.rates[:k])[:, None]
        nodes = [self._nodes(i, s) for i in range(k)]

        def arguments(busy: Points, columns: NDArray[np.int64]) -> Points:
            return s[columns] + np.cumsum((rates * (1 - busy))[::-1], axis=0)[::-1]

        def step(busy: Points, columns: NDArray[np.int64]) -> Points:
            at = arguments(busy, columns)
            return np.array([self._complete(i, at[i], at[0], *nodes[i]) for i in range(k)])

        if not k:
            return s
        busy = fixed_point(step, np.zeros((k, s.size), np.complex128))
        return np.asarray(arguments(busy, np.arange(s.size))[0])

    def _complete(
        self,
        k: int,
        u: Points,
        w: Points,
        times: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> Points:
        rate = self._queue.rate_above(k)
        if not rate:
            return self._queue.services[k].laplace(u)
        v = u + rate
        return np.asarray(_completed(v, w / v, times, weights))

    def _complete_series(self, k: int, sigma: Taylor) -> Taylor:
        """Return the completion time's series for sigma = sigma_k: sum of (-w)^n E[e_x^n]."""
        service, rate, order = self._queue.services[k], self._queue.rate_above(k), sigma.order
        if not rate:
            return moments_series(service, order)
        tilted = [
            Taylor.of_moments(
                [j**i * service.moment(i, j * rate) for i in range(order + 1)], sign=1
            )
            for j in range(order + 1)
        ]
        total = power = sigma * 0.0 + 1.0
        factor = (-sigma) / (Taylor.variable(order) + rate)
        for n in range(1, order + 1):
            power = power * factor
            terms = [math.comb(n, j) * (-1) ** (n - j) * tilted[j] for j in range(n + 1)]
            total = total + power * sum(terms[1:], terms[0])
        return total

    def _nodes(self, k: int, s: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rate = self._queue.rate_above(k)
        widest = _RADIANS_A_PANEL / (float(np.abs(s.imag).max()) + rate + float(s.real[0]))
        return self._queue.services[k].quadrature(_NEGLIGIBLE_EXPONENT / float(s.real[0]), widest)


@numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _completed(
    v: Points, share: Points, times: NDArray[np.float64], weights: NDArray[np.float64]
) -> Points:
    """Return E[e / (e + share (1 - e))] with e = exp(-v S), for every v."""
    result = np.zeros_like(v)
    for i in range(v.size):
        for j in range(times.size):
            unbroken = np.exp(-v[i] * times[j])
            result[i] += weights[j] * unbroken / (unbroken + share[i] * (1 - unbroken))
    return result


def moments_series(service: Service, order: int) -> Taylor:
    """Return a service time's transform as a power series."""
    # Exactly 1 first: its rounding error would be divided by zero.
    return Taylor.of_moments([1.0, *(service.moment(k) for k in range(1, order + 1))])
