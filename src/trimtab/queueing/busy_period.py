"""Busy periods under marked Markovian arrivals: Takacs' equation for matrices."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.services import Service

_MOST_STEPS = 60
_CLOSE = 1e-6
_CONVERGED = 1e-10


def delay_exponents(
    s: NDArray[np.complex128],
    quiet: NDArray[np.float64],
    interrupting: Sequence[NDArray[np.float64]],
    services: Sequence[Service],
) -> tuple[NDArray[np.complex128], NDArray[np.complex128], NDArray[np.complex128]]:
    """Return the eigenvalues and the right and left eigenvectors of M(s), for every s.

    Work of x seconds, interrupted by arrivals, is done after a time T. The entries of exp(M(s) x)
    are E[exp(-s T)] by the phases of the arrival process at the beginning and the end. Arrivals
    marked by the matrices `interrupting`, (n, n), bring work of the times `services`; arrivals
    during that work interrupt it too. `quiet`, (n, n), holds the transitions without arrivals. M(s)
    solves Takacs' equation

        M = quiet - s I + sum_h interrupting_h E[exp(M S_h)].

    Newton's method is used. In the basis of M's eigenvectors, the derivative of a matrix function
    is an elementwise product with divided differences. So a step solves one linear system per
    phase. `s`: 1/s, (m,), with real parts from zero on, or left of it where M is analytic. Shapes:
    (m, n), (m, n, n), (m, n, n), the left ones in rows. NaN where no solution was found.
    """
    constant = quiet - s[:, None, None] * np.eye(len(quiet))
    fastest = float(-quiet.diagonal().min())
    matrix = constant.copy()
    for jumps, service in zip(interrupting, services, strict=True):
        # Busy periods are about as short as this; without them `quiet` may lack eigenvectors.
        matrix += service.laplace(s + fastest)[:, None, None] * jumps
    moving: NDArray[np.intp] = np.arange(s.size) if interrupting else np.arange(0)
    tolerance: NDArray[np.float64] = _CONVERGED * (fastest + np.abs(s))
    for _ in range(_MOST_STEPS):
        if not moving.size:
            break
        step = _newton_step(matrix[moving], constant[moving], interrupting, services)
        matrix[moving] += step
        size: NDArray[np.float64] = np.abs(step).max(axis=(1, 2))
        moving = moving[size > tolerance[moving]]  # NaN stays NaN
    matrix[moving] = np.nan
    return _eigenvectors(matrix)


def _eigenvectors(
    matrix: NDArray[np.complex128],
) -> tuple[NDArray[np.complex128], NDArray[np.complex128], NDArray[np.complex128]]:
    finite = np.asarray(np.isfinite(matrix).all(axis=(1, 2)))
    values, right = np.linalg.eig(np.where(finite[:, None, None], matrix, 0.0))
    values[~finite] = np.nan
    return values, right, np.linalg.inv(right)


def _newton_step(
    matrix: NDArray[np.complex128],
    constant: NDArray[np.complex128],
    interrupting: Sequence[NDArray[np.float64]],
    services: Sequence[Service],
) -> NDArray[np.complex128]:
    """Return the step to add to `matrix`, (m, n, n)."""
    values, right, left = _eigenvectors(matrix)
    gap = values[:, :, None] - values[:, None, :]
    near: NDArray[np.float64] = _CLOSE * np.abs(matrix).max(axis=(1, 2))
    close = np.asarray(np.abs(gap) < near[:, None, None])
    residual = constant - matrix
    equations = np.zeros((*matrix.shape, len(matrix[0])), np.complex128)  # one system per column
    equations += np.eye(len(matrix[0]))
    for jumps, service in zip(interrupting, services, strict=True):
        transform = service.laplace(-values)
        residual = residual + (jumps @ right) * transform[:, None, :] @ left
        slope = (service.laplace(-values - near[:, None]) - transform) / near[:, None]
        difference = transform[:, :, None] - transform[:, None, :]
        quotient = np.where(close, slope[:, :, None], difference / np.where(close, 1.0, gap))
        equations -= (left @ jumps @ right)[:, None] * quotient.swapaxes(1, 2)[:, :, None, :]
    columns = (left @ residual @ right).swapaxes(1, 2)
    solved = np.linalg.solve(equations, columns[..., None])[..., 0]
    return np.asarray(right @ solved.swapaxes(1, 2) @ left)
