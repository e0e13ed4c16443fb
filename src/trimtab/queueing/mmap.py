"""Marked Markovian arrival processes (MMAP[K]): a chain of phases brings jobs of K classes.

Lists with one entry per class are in the order of decreasing importance. For use from Python
(docs/reference/library.md).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from trimtab.queueing.errors import ModelError

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class MarkedArrivals:
    """A Markov chain of n phases; some of its transitions bring a job of one of K classes.

    `hidden`: D0, (n, n), rates in 1/s of the transitions without a job; its diagonal is minus the
    total rate of all others from the phase. `marked`: D1 to DK, (K, n, n), rates of the transitions
    that bring a job of each class; the phase may stay. Raises ModelError where their sum is no
    irreducible generator, or a class never arrives.
    """

    hidden: NDArray[np.float64]
    marked: NDArray[np.float64]

    def __post_init__(self) -> None:
        hidden = np.array(self.hidden, np.float64)
        try:
            marked = np.array(self.marked, np.float64)
        except ValueError:
            raise ModelError("the matrices D1 to DK must all have the shape of D0") from None
        object.__setattr__(self, "hidden", hidden)
        object.__setattr__(self, "marked", marked)
        if hidden.ndim != 2 or not hidden.size or hidden.shape[0] != hidden.shape[1]:
            raise ModelError(f"D0 is a square matrix, not of shape {hidden.shape}")
        if marked.ndim != 3 or not len(marked) or marked.shape[1:] != hidden.shape:
            raise ModelError(
                f"D1 to DK, at least one, have the shape of D0, {hidden.shape}; together they "
                f"are of shape {marked.shape}, not (K, {len(hidden)}, {len(hidden)})"
            )
        if not (np.isfinite(hidden).all() and np.isfinite(marked).all()):
            raise ModelError("the rates of marked arrivals must be finite")
        for number, jumps in enumerate(marked, 1):
            if jumps.min() < 0:
                raise ModelError(f"D{number} has a negative rate, {jumps.min():g}")
            if not jumps.any():
                raise ModelError(f"class {number} never arrives: D{number} is zero")
        if (hidden - np.diag(hidden.diagonal())).min() < 0:
            raise ModelError("D0 has no negative rate outside its diagonal")
        excess = np.abs(self.generator.sum(axis=1))
        if (excess > _TOLERANCE * np.abs(hidden.diagonal())).any():
            row = int(excess.argmax())
            raise ModelError(
                f"the rows of D0 + ... + DK sum to zero; row {row} sums to "
                f"{self.generator[row].sum():g}: is the diagonal of D0 minus all other rates?"
            )
        sets, _ = connected_components(self.generator, directed=True, connection="strong")
        if sets > 1:
            raise ModelError(
                f"the phases fall into {sets} sets that do not all reach each other: leave out "
                "those that are left for good"
            )

    @property
    def phases(self) -> int:
        """The number of phases."""
        return len(self.hidden)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.marked)

    @property
    def generator(self) -> NDArray[np.float64]:
        """The generator of the phases, D0 + ... + DK, (n, n)."""
        return np.asarray(self.hidden + self.marked.sum(axis=0))

    @cached_property
    def stationary(self) -> NDArray[np.float64]:
        """The share of time in each phase, (n,)."""
        return stationary_vector(self.generator)

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """The arrival rate of each class, 1/s, (K,)."""
        return np.asarray(self.marked.sum(axis=2) @ self.stationary)

    def scaled(self, factor: float) -> "MarkedArrivals":
        """Return the same process `factor` times as fast."""
        if not 0 < factor < math.inf:
            raise ModelError(f"a process is sped up by a positive factor, not {factor}")
        return MarkedArrivals(self.hidden * factor, self.marked * factor)


def stationary_vector(generator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stationary probabilities, (n,), of `generator`, (n, n)."""
    equations = generator.copy()
    equations[:, 0] = 1.0
    return np.linalg.solve(equations.T, np.eye(len(generator))[0])


def poisson(rates: ArrayLike) -> MarkedArrivals:
    """Return independent Poisson arrivals of each class, of `rates`, 1/s, (K,)."""
    marked = np.array(rates, np.float64).reshape(-1, 1, 1)
    return MarkedArrivals(-marked.sum(axis=0), marked)


def modulated(rates: ArrayLike, switching: ArrayLike) -> MarkedArrivals:
    """Return Poisson arrivals whose rates a Markov chain switches (a marked MMPP).

    `rates`: 1/s by class and phase, (K, n); `switching`: the chain's generator, (n, n).
    """
    by_phase = np.array(rates, np.float64)
    generator = np.array(switching, np.float64)
    if by_phase.ndim != 2 or generator.shape != (by_phase.shape[1],) * 2:
        raise ModelError(
            f"rates by class and phase, (K, n), go with a generator (n, n), not {by_phase.shape} "
            f"with {generator.shape}"
        )
    marked = np.array([np.diag(each) for each in by_phase])
    return MarkedArrivals(generator - marked.sum(axis=0), marked)


def bursty(rates: ArrayLike, factor: float, burst_s: float, calm_s: float) -> MarkedArrivals:
    """Return arrivals of all classes, `factor` times as fast in bursts as between them.

    `rates`: long-run rates, 1/s, (K,). Bursts and the times between them are exponential with the
    means `burst_s` and `calm_s`.
    """
    if not (factor > 0 and burst_s > 0 and calm_s > 0):
        raise ModelError(
            f"bursts have a positive factor and positive lengths, not {factor}, {burst_s}, {calm_s}"
        )
    calm = np.array(rates, np.float64) * (burst_s + calm_s) / (factor * burst_s + calm_s)
    switching = np.array([[-1 / calm_s, 1 / calm_s], [1 / burst_s, -1 / burst_s]])
    return modulated(np.column_stack([calm, factor * calm]), switching)


def superpose(*processes: MarkedArrivals) -> MarkedArrivals:
    """Return the sum of independent processes, with their classes concatenated.

    A phase combines the phases of all processes, so their numbers multiply.
    """
    if not processes:
        raise ModelError("nothing to superpose")
    hidden, marked = processes[0].hidden, processes[0].marked
    for process in processes[1:]:
        before, after = np.eye(len(hidden)), np.eye(process.phases)
        hidden = np.kron(hidden, after) + np.kron(before, process.hidden)
        marked = np.concatenate([np.kron(marked, after), np.kron(before[None], process.marked)])
    return MarkedArrivals(hidden, marked)
