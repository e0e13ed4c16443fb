"""A response time by its Laplace transform: moments, distribution, percentiles."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import comb

from trimtab.queueing.errors import ModelError

Transform: TypeAlias = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]

_NODES = 64
_MOST_HALVINGS = 40
_ROUNDING, _WORST_ERROR = 1e-12, 1e-6  # of the mean, relative
_MOST_MOMENTS = 8
_FARTHEST = 1 - 1e-6

# Abate and Whitt's Euler algorithm. A tail's aliasing error is below exp(-_ALIAS) P(X > 3t);
# rounding grows with exp(_ALIAS / 2).
_ALIAS = 23.0
_TERMS, _AVERAGED = 60, 14
_TIMES_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class ResponseTime:
    """A positive random time X, s, without jumps in its distribution.

    `laplace` maps complex s, 1/s, (n,), to E[exp(-sX)], (n,), for positive real parts and in some
    circle about zero. `radius`, 1/s, estimates that circle, rather too large than too small. In the
    rest of the circle of that radius `laplace` may return any value or NaN.
    """

    laplace: Transform
    radius: float

    @property
    def mean(self) -> float:
        """The mean, s."""
        return self.moment(1)

    def moment(self, k: int) -> float:
        """Return the k-th moment about zero, E[X^k], k from 1 to 8; ModelError for others."""
        if not 1 <= k <= _MOST_MOMENTS:
            raise ModelError(f"moments from the first to the {_MOST_MOMENTS}th are known, not {k}")
        return float((-1) ** k * math.factorial(k) * self._series[k])

    def tail(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return P(X > t) for every time, s, in the shape of `t`, usually to an absolute 1e-9.

        The transform is inverted by the Euler algorithm (Abate and Whitt, Numerical inversion of
        Laplace transforms of probability distributions, ORSA Journal on Computing 7, 1995).
        Rounding limits the precision to 1e-6 where the mean is 10^5 times the fastest rate's time.
        """
        times = np.asarray(t, np.float64)
        later = np.unique(times[(times > 0) & (times < math.inf)])
        parts = [
            self._invert(later[at : at + _TIMES_AT_ONCE])
            for at in range(0, later.size, _TIMES_AT_ONCE)
        ]
        tails = np.concatenate([[1.0], *parts, [0.0]])  # with the tails before and after `later`
        place = np.searchsorted(later, times, side="right") + (times == math.inf)
        return np.asarray(tails[place])

    def cdf(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return P(X <= t) for every time, s, in the shape of `t`; as exact as `tail`."""
        return np.asarray(1.0 - self.tail(t))

    def quantile(self, p: float) -> float:
        """Return the time, s, exceeded with probability 1 - p.

        Raises ModelError for p outside [0, 1 - 1e-6]: farther tails are not exact enough.
        """
        if not 0 <= p <= _FARTHEST:
            raise ModelError(f"a quantile's probability is in [0, 1 - 1e-6], not {p}")
        if p == 0:
            return 0.0
        goal = math.log1p(-p)

        def distance(t: float) -> float:
            # The logarithm of a tail is nearly straight.
            return math.log(max(float(self.tail(t)), 1e-300)) - goal

        low, high = 0.0, 1 / self.radius
        while distance(high) > 0:
            low, high = high, 2 * high
        return float(brentq(distance, low, high, xtol=1e-10 * high, rtol=1e-10))

    @cached_property
    def _series(self) -> NDArray[np.float64]:
        return power_series(self.laplace, self.radius)

    def _invert(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(X > t) at `times` > 0, (n,)."""
        steps = np.arange(_TERMS + _AVERAGED + 1)
        nodes = np.array((_ALIAS + 2j * np.pi * steps) / (2 * times[:, None]), np.complex128)
        transformed = self.laplace(nodes.ravel()).reshape(nodes.shape)
        terms = ((1 - transformed) / nodes).real * (-1.0) ** steps
        terms[:, 0] /= 2
        weights = comb(_AVERAGED, np.arange(_AVERAGED + 1)) / 2.0**_AVERAGED
        averaged = terms.cumsum(axis=1)[:, -_AVERAGED - 1 :] @ weights
        return np.asarray(np.clip(math.exp(_ALIAS / 2) / times * averaged, 0.0, 1.0))


def power_series(laplace: Transform, radius: float) -> NDArray[np.float64]:
    """Return the coefficients, (32,), about zero of `laplace`, the transform of a positive time.

    They are Cauchy's integral over a circle. The discrete Fourier transform gives it, up to
    rounding, when `laplace` is analytic well beyond the circle. The error shows in the first
    coefficient, which should be one, and in the upper half, which should be zero. The circle
    shrinks from `radius`, 1/s, until they are, or until rounding on a small circle makes the error
    grow again. `laplace` may return any value or NaN where it is not analytic. Raises ModelError
    where no circle is good enough.
    """
    upper = np.exp(2j * np.pi * np.arange(_NODES // 2 + 1) / _NODES)
    least = _WORST_ERROR
    best: NDArray[np.float64] | None = None
    for shrunk in radius * 0.5 ** np.arange(_MOST_HALVINGS):
        with np.errstate(all="ignore"):
            values = laplace(shrunk * upper)
        if not np.isfinite(values).all():
            continue
        scaled: NDArray[np.float64] = np.fft.irfft(values.conj(), _NODES)
        noise = max(np.abs(scaled[_NODES // 2 :]).max(), abs(scaled[0] - 1))
        error = noise / max(abs(scaled[1]), np.finfo(float).tiny)
        if error < least:
            least = error
            best = np.asarray(scaled[: _NODES // 2] / shrunk ** np.arange(_NODES // 2))
        elif best is not None:
            break
        if error < _ROUNDING:
            break
    if best is None:
        raise ModelError("the response time has no moments: no circle about zero is analytic")
    return best
