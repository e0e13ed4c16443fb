"""Nodes and weights that integrate over a service time."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_NODE, _WEIGHT = np.polynomial.legendre.leggauss(16)
_FINEST = 1e-4
_SMALLEST = float(np.finfo(np.float64).tiny)  # below it, dividing may leave a number as it is


def graded_nodes(
    upto: float, widest: float, ratio: float, breaks: Sequence[float] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Gauss-Legendre nodes and weights, (n,) each, for the integral from 0 to `upto`.

    Panels are no wider than `widest`, grow towards zero no faster than by `ratio`, since the
    fast phases of a phase-type density have died away later on, and end at each of `breaks`.
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


def panel_ratio(phases: int) -> float:
    """Return how fast panels may grow for a density of so many phases.

    An Erlang density of n phases is at its narrowest about x / sqrt(n) wide at x.
    """
    return 1 + 2 / math.sqrt(phases + 3)
