"""The power series about zero of a Laplace transform that can be evaluated around it."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.errors import ModelError

Transform: TypeAlias = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]

_NODES = 64
_MOST_HALVINGS = 40
_ROUNDING, _WORST_ERROR = 1e-12, 1e-6  # of the mean, relative


def power_series(laplace: Transform, radius: float) -> NDArray[np.float64]:
    """Return the coefficients of `laplace`, that of a positive time, about zero, (32,).

    Cauchy's integral over a circle, which the discrete Fourier transform gives but for rounding
    errors when the transform is analytic well beyond the circle. How well is seen from the first
    of its coefficients, which would be one, and the upper half, which would be zero: the circle
    shrinks from `radius`, 1/s, until they are, or until they miss it by more again, as rounding
    makes them when the circle is small. `laplace` may return anything or NaN where it is not
    analytic. Raises ModelError where no circle serves.
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
