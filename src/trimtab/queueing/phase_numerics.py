"""Numerics of phase-type times: quadrature over them, uniformisation of their chain."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.special import gammaln, xlogy

_NODE, _WEIGHT = np.polynomial.legendre.leggauss(16)
_FINEST = 1e-4
_SMALLEST = float(np.finfo(np.float64).tiny)  # dividing a smaller number may not change it
_MOST_STEPS = 20_000
_MOST_WEIGHTS = 1_000_000
_STEPS_A_TIME = 500  # about the cost of a matrix exponential


def graded_nodes(
    upto: float, widest: float, ratio: float, breaks: Sequence[float] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Gauss-Legendre nodes and weights, (n,) each, for the integral from 0 to `upto`.

    Panels are at most `widest` wide, their ends differ by at most a factor `ratio`, and they end at
    each of `breaks`. They can widen because fast phases of a phase-type density die away early.
    """
    edges = [upto, *(x for x in breaks if 0 < x < upto)]
    at = upto
    while at > max(_FINEST * upto, _SMALLEST):
        at = max(at / ratio, at - widest)
        edges.append(at)
    edges.append(0.0)
    ends = np.unique(edges)
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (_NODE + 1)).ravel(), (half * _WEIGHT).ravel()


def expected_values(
    alpha: NDArray[np.float64],
    matrix: NDArray[np.float64],
    values: NDArray[np.float64],
    times_s: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return alpha exp(matrix t) values for every t >= 0 of `times_s`, (m,); 0 for infinity.

    `alpha` (n,), `matrix` a sub-generator (n, n), 1/s, `values` (n,) none negative. Uniformisation
    adds only positive terms, so far tails keep all their digits. Where a fast phase would need too
    many steps, a matrix exponential per time replaces it, exact to an absolute 1e-13.
    """
    rate = float(-matrix.diagonal().min())
    finite = np.where(np.isfinite(times_s), times_s, 0.0)
    jumps_expected = rate * float(finite.max(initial=0.0))
    steps = math.ceil(jumps_expected + 10 * math.sqrt(jumps_expected) + 40)
    if steps > min(_MOST_STEPS, _STEPS_A_TIME * times_s.size + _STEPS_A_TIME):
        result = np.array([alpha @ expm(matrix * t) @ values for t in finite])
    else:
        jumps = matrix / rate + np.eye(alpha.size)
        after, state = np.empty(steps), alpha
        for step in range(steps):
            after[step] = state @ values
            state = state @ jumps
        number = np.arange(steps)
        factorials = gammaln(number + 1)
        result = np.empty(finite.size)
        rows = max(1, _MOST_WEIGHTS // steps)
        for at in range(0, finite.size, rows):
            expected = rate * finite[at : at + rows, None]
            result[at : at + rows] = np.exp(xlogy(number, expected) - expected - factorials) @ after
    result[~np.isfinite(times_s)] = 0.0
    return np.asarray(result, np.float64)
