"""Phase-type distributions: the time until a Markov chain of a few phases is absorbed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm, schur
from scipy.optimize import brentq

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_numerics import expected_values, graded_nodes

_TOLERANCE = 1e-9
_ROUNDING = 1e-12  # relative to the diagonal: a smaller row sum is zero
_MOST_FITTED_PHASES = 1_000


@dataclass(frozen=True, eq=False)
class PhaseType:
    """The time to absorption from the phases `alpha` under the sub-generator `matrix`.

    `alpha`: probabilities of the first phase, (n,); `matrix`: transition rates between the phases
    in 1/s, (n, n), its diagonal minus the rate of leaving. Raises ModelError where `alpha` is no
    distribution, or `matrix` no sub-generator with certain absorption from every phase.
    """

    alpha: NDArray[np.float64]
    matrix: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", np.array(self.alpha, np.float64))
        object.__setattr__(self, "matrix", np.array(self.matrix, np.float64))
        alpha, matrix = self.alpha, self.matrix
        if alpha.ndim != 1 or not alpha.size or matrix.shape != (alpha.size, alpha.size):
            raise ModelError(
                f"a phase-type distribution of n phases has alpha (n,) and a matrix (n, n), "
                f"not {alpha.shape} and {matrix.shape}"
            )
        if not (np.isfinite(alpha).all() and np.isfinite(matrix).all()):
            raise ModelError("alpha and the matrix of a phase-type distribution must be finite")
        if alpha.min() < -_TOLERANCE or abs(alpha.sum() - 1) > _TOLERANCE:
            raise ModelError(
                f"alpha must be probabilities that sum to 1, not {alpha.min():g} at the least and "
                f"{alpha.sum():.12g} in sum"
            )
        diagonal = matrix.diagonal()
        if (matrix - np.diag(diagonal)).min() < 0:
            raise ModelError("a sub-generator has no negative rate outside its diagonal")
        if (diagonal >= 0).any():
            raise ModelError(
                f"phase {int(diagonal.argmax())} is never left: a sub-generator's diagonal is "
                f"negative, not {diagonal.max():g}"
            )
        if (matrix.sum(axis=1) > -diagonal * _TOLERANCE).any():
            raise ModelError("every row of a sub-generator sums to zero or less")
        if not _absorbing(matrix, self.exit_rates):
            raise ModelError("absorption must be within reach of every phase of a sub-generator")

    @property
    def phases(self) -> int:
        """How many phases there are."""
        return int(self.alpha.size)

    @cached_property
    def exit_rates(self) -> NDArray[np.float64]:
        """The rate of absorption from each phase, 1/s, (n,)."""
        return exit_rates(self.matrix)

    @property
    def mean(self) -> float:
        """The mean, s."""
        return self.moment(1)

    @property
    def scv(self) -> float:
        """The squared coefficient of variation: the variance over the squared mean."""
        return self.moment(2) / self.mean**2 - 1

    def moment(self, k: int, tilt: float = 0.0) -> float:
        """Return E[X^k exp(tilt X)] = k! alpha (-T - tilt I)^-(k+1) t; infinity where it diverges.

        `tilt` is in 1/s; with 0, this is the k-th moment about zero.
        """
        if tilt == 0.0:
            return float(self.alpha @ self._resolvent(k, 0.0, np.ones(self.phases)))
        if tilt >= self._decay_rate:
            return math.inf
        return float(
            self.alpha @ self._resolvent(k, tilt, self._resolvent(1, tilt, self.exit_rates))
        )

    def cdf(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return P(X <= t) for every time, s, in the shape of `t`."""
        return np.where(np.less(t, 0), 0.0, 1.0 - self._expect(t, np.ones(self.phases)))

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the density, 1/s, at every time, s, in the shape of `t`."""
        return np.where(np.less(t, 0), 0.0, self._expect(t, self.exit_rates))

    def quantile(self, p: float) -> float:
        """Return the time, s, exceeded with probability 1 - p; raises ModelError for p >= 1."""
        if not 0 <= p < 1:
            raise ModelError(f"a quantile's probability is in [0, 1), not {p}")
        high = self.mean
        while self.cdf(high) < p:
            high *= 2
        return float(brentq(lambda t: float(self.cdf(t)) - p, 0.0, high, xtol=1e-13 * high))

    def laplace(self, s: ArrayLike) -> NDArray[np.complex128]:
        """Return E[exp(-sX)] for every complex `s`, 1/s, in its shape.

        One Schur decomposition serves all `s`; the triangular systems that remain are solved
        together.
        """
        points = np.asarray(s, np.complex128)
        triangle, start, exits = self._schur_form
        flat = points.ravel()
        solved = np.empty((self.phases, flat.size), np.complex128)
        for row in range(self.phases - 1, -1, -1):
            # einsum: such a small product is slower on many threads, far slower on busy ones.
            rest = np.einsum("k,km->m", triangle[row, row + 1 :], solved[row + 1 :])
            known = exits[row] + rest
            solved[row] = known / (flat - triangle[row, row])
        return np.asarray(np.einsum("k,km->m", start, solved).reshape(points.shape))

    def remaining(self, t: float) -> "PhaseType":
        """Return the distribution of the rest of a time that has lasted `t` seconds."""
        phases = self.alpha @ expm(self.matrix * t)
        if not phases.sum() > 0:
            raise ModelError(f"no time of mean {self.mean:g} s lasts {t:g} s")
        return PhaseType(np.maximum(phases, 0) / np.maximum(phases, 0).sum(), self.matrix)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent times, s, drawn with `rng`."""
        leaving = -self.matrix.diagonal()
        jumps = self.matrix / leaving[:, None] + np.eye(self.phases)
        cumulative = jumps.cumsum(axis=1)
        cumulative[self.exit_rates == 0, -1] = 1.0
        chances = np.maximum(self.alpha, 0)
        phase = np.asarray(rng.choice(self.phases, size, p=chances / chances.sum()))
        time, alive = np.zeros(size), np.arange(size)
        while alive.size:
            time[alive] += rng.exponential(size=alive.size) / leaving[phase]
            phase = (rng.random(alive.size)[:, None] >= cumulative[phase]).sum(axis=1)
            alive, phase = alive[phase < self.phases], phase[phase < self.phases]
        return time

    def quadrature(
        self, upto: float, widest: float, breaks: Sequence[float] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times x, s, and weights w, (n,) each: E[g(X); X <= upto] is about g(x) @ w.

        `widest`: the length, in s, over which g is smooth; `breaks`: points where it is not.
        """
        # The narrowest density of n phases, Erlang's, is about x / sqrt(n) wide at x.
        ratio = 1 + 2 / math.sqrt(self.phases + 3)
        nodes, weights = graded_nodes(min(upto, self._longest), widest, ratio, breaks)
        return nodes, weights * self.density(nodes)

    @cached_property
    def _longest(self) -> float:
        """A time exceeded with probability of at most exp(-39), by Chernoff's bound."""
        tilts = self._decay_rate * np.array([0.3, 0.5, 0.7, 0.9])
        return float(min((39 + math.log(self.moment(0, tilt))) / tilt for tilt in tilts))

    @property
    def _decay_rate(self) -> float:
        return -float(self._schur_form[0].diagonal().real.max())

    def _resolvent(
        self, power: int, tilt: float, vector: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return power! (-T - tilt I)^-power vector."""
        shifted = -self.matrix - tilt * np.eye(self.phases)
        for factor in range(1, power + 1):
            vector = np.asarray(factor * np.linalg.solve(shifted, vector))
        return vector

    @cached_property
    def _schur_form(self) -> tuple[NDArray[np.complex128], ...]:
        if not np.tril(self.matrix, -1).any():  # Erlang times and chains of stages
            parts = (self.matrix, self.alpha, self.exit_rates)
            return tuple(part.astype(np.complex128) for part in parts)
        triangle, unitary = schur(self.matrix, output="complex")
        return triangle, self.alpha @ unitary, unitary.conj().T @ self.exit_rates

    def _expect(self, t: ArrayLike, values: NDArray[np.float64]) -> NDArray[np.float64]:
        times = np.asarray(t, np.float64)
        after = expected_values(self.alpha, self.matrix, values, np.maximum(times.ravel(), 0.0))
        return after.reshape(times.shape)


def exit_rates(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rates of absorption, (n,), of a sub-generator, (n, n)."""
    rates = -matrix.sum(axis=1)
    return np.where(rates > -matrix.diagonal() * _ROUNDING, rates, 0.0)


def _absorbing(matrix: NDArray[np.float64], exit_rates: NDArray[np.float64]) -> bool:
    """Return whether every phase reaches one with an exit."""
    reaching = exit_rates > 0
    for _ in range(exit_rates.size):
        more = reaching | ((matrix > 0) & reaching).any(axis=1)
        if (more == reaching).all():
            break
        reaching = more
    return bool(reaching.all())


def exponential(rate: float) -> PhaseType:
    """Return the exponential distribution of `rate`, 1/s."""
    return erlang(1, rate)


def erlang(phases: int, rate: float) -> PhaseType:
    """Return the sum of `phases` exponential times, each of `rate`, 1/s."""
    if phases < 1 or not 0 < rate < math.inf:
        raise ModelError(f"an Erlang distribution has phases >= 1 and rate > 0: {phases}, {rate}")
    return PhaseType(np.eye(phases)[0], rate * (np.eye(phases, k=1) - np.eye(phases)))


def hyperexponential(probabilities: Sequence[float], rates: Sequence[float]) -> PhaseType:
    """Return an exponential time whose rate, 1/s, is drawn with `probabilities`."""
    if len(probabilities) != len(rates):
        raise ModelError(f"{len(probabilities)} probabilities do not fit {len(rates)} rates")
    return PhaseType(np.array(probabilities, np.float64), -np.diag(np.array(rates, np.float64)))


def fit_two_moments(mean: float, scv: float) -> PhaseType:
    """Return a phase-type distribution of `mean`, s, and squared coefficient of variation `scv`.

    Below 1 it is a mixture of two neighbouring Erlang distributions of one rate; above 1 a
    hyperexponential one of two phases with balanced means (Tijms, A First Course in Stochastic
    Models, appendix B). Raises ModelError for an scv that would need over a thousand phases.
    """
    if not (0 < mean < math.inf and 0 < scv < math.inf):
        raise ModelError(f"a fit needs a positive mean and variation: mean {mean}, scv {scv}")
    if scv * _MOST_FITTED_PHASES < 1:
        raise ModelError(
            f"an scv of {scv:g} needs more than {_MOST_FITTED_PHASES} phases: take a larger one, "
            "or an Erlang distribution"
        )
    if scv >= 1:
        first = (1 + math.sqrt((scv - 1) / (scv + 1))) / 2
        if scv == 1:
            return exponential(1 / mean)
        return hyperexponential((first, 1 - first), (2 * first / mean, 2 * (1 - first) / mean))
    phases = math.ceil(1 / scv - 1e-12)
    root = math.sqrt(max(phases * (1 + scv) - phases**2 * scv, 0.0))
    fewer = min(max((phases * scv - root) / (1 + scv), 0.0), 1.0)
    rate = (phases - fewer) / mean
    alpha = np.zeros(phases)
    alpha[0] = 1 - fewer
    alpha[min(1, phases - 1)] += fewer
    return PhaseType(alpha, rate * (np.eye(phases, k=1) - np.eye(phases)))
