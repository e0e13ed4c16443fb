"""Arrivals of a marked Markovian arrival process: Rocha's thesis, section 4.3."""

from collections.abc import Iterable, Iterator

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UserError

_TOLERANCE = 1e-9  # of a row's sum, relative to its largest rate


def marked_arrivals(
    d0: ArrayLike, marked: Iterable[ArrayLike], rng: np.random.Generator, block: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Yield endless blocks of arrivals: rising times in s, (block,), and classes 0 to K - 1.

    `d0` is D_0, (m, m), and `marked` are D_1 to D_K, rates in 1/s; the chain starts in its
    stationary state. Raises UserError with the matrix and the row when they describe no marked
    Markovian arrival process, its chain is reducible, or nothing ever arrives.
    """
    matrices = _checked(d0, marked)
    phases = _stationary_phases(matrices)
    if not any(matrix.any() for matrix in matrices[1:]):
        raise UserError("D_1 and the following matrices are 0: nothing ever arrives")
    exit_rates = -np.diag(matrices[0])
    jumps = matrices.copy()
    np.fill_diagonal(jumps[0], 0.0)
    # Row i: where state i jumps, as (kind of arrival or 0 for none, next state), cumulated.
    cumulated = np.cumsum(jumps.transpose(1, 0, 2).reshape(exit_rates.size, -1), axis=1)
    cumulated /= cumulated[:, -1:]
    state = int(rng.choice(exit_rates.size, p=phases))
    time_s = 0.0
    while True:
        times_s, classes = np.empty(block), np.empty(block, np.int64)
        state, time_s = _walk(rng, exit_rates, cumulated, state, time_s, times_s, classes)
        yield times_s, classes


def _checked(d0: ArrayLike, marked: Iterable[ArrayLike]) -> NDArray[np.float64]:
    """Return D_0 to D_K as one array, (K + 1, m, m)."""
    arrays = [np.asarray(matrix, np.float64) for matrix in (d0, *marked)]
    if len(arrays) < 2:
        raise UserError("an arrival process needs D_0 and at least D_1")
    size = arrays[0].shape[0] if arrays[0].ndim else 0
    for number, array in enumerate(arrays):
        if not size or array.shape != (size, size):
            raise UserError(f"D_{number} has shape {array.shape}, expected a square like D_0")
    matrices = np.stack(arrays)
    rates = matrices.copy()
    np.fill_diagonal(rates[0], 0.0)
    for number, row, column in np.argwhere(~(np.isfinite(rates) & (rates >= 0))).tolist():
        value = matrices[number, row, column]
        raise UserError(f"D_{number}, row {row}: {value:g} is no rate, expected 0 or more")
    leaving = rates.sum(axis=(0, 2))
    for row in range(size):
        diagonal = matrices[0, row, row]
        if not abs(diagonal + leaving[row]) <= _TOLERANCE * leaving[row]:
            raise UserError(
                f"D_0, row {row}: {diagonal:g} on the diagonal, expected {-leaving[row]:g}: the "
                "rows of all matrices together have to add up to 0"
            )
        if not leaving[row]:
            raise UserError(f"D_0, row {row}: the chain never leaves this state")
    return matrices


def _stationary_phases(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stationary distribution of the chain, (m,)."""
    generator = matrices.sum(axis=0)
    size = len(generator)
    reach = np.linalg.matrix_power((generator != 0) | np.eye(size, dtype=bool), size)
    if not reach.all():
        start, end = np.argwhere(~reach)[0]
        raise UserError(f"the chain of D_0, D_1, ... never comes from state {start} to {end}")
    # One balance equation follows from the others; the sum of 1 replaces it.
    equations = np.vstack([generator.T[:-1], np.ones(size)])
    phases = np.linalg.solve(equations, np.append(np.zeros(size - 1), 1.0)).clip(0)
    return np.asarray(phases / phases.sum())


@njit(cache=True)  # type: ignore[untyped-decorator]
def _walk(
    rng: np.random.Generator,
    exit_rates: NDArray[np.float64],
    cumulated: NDArray[np.float64],
    state: int,
    time_s: float,
    times_s: NDArray[np.float64],
    classes: NDArray[np.int64],
) -> tuple[int, float]:
    """Fill the block with the next arrivals; return state and time of the last."""
    count = 0
    while count < times_s.size:
        time_s += rng.standard_exponential() / exit_rates[state]
        jump = int(np.searchsorted(cumulated[state], rng.random(), side="right"))
        kind, state = jump // exit_rates.size, jump % exit_rates.size
        if kind:
            times_s[count] = time_s
            classes[count] = kind - 1
            count += 1
    return state, time_s
