"""Service times for the formulas with Poisson arrivals."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_type import PhaseType


class Service(Protocol):
    """A service time S, s: PhaseType, or any class with these methods."""

    @property
    def mean(self) -> float:
        """The mean, s."""

    def moment(self, k: int, tilt: float = 0.0) -> float:
        """Return E[S^k exp(tilt S)], infinity where it diverges; `tilt` in 1/s."""

    def laplace(self, s: ArrayLike) -> NDArray[np.complex128]:
        """Return E[exp(-s S)] for every complex `s`, 1/s, Re s >= 0, in its shape."""

    def quadrature(
        self, upto: float, widest: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times x and weights w, (n,) each: E[g(S); S <= upto] is about g(x) @ w."""


@dataclass(frozen=True, eq=False)
class Sprinted:
    """The time min(S, T) + max(S - T, 0) / v of a job that sprints when T has passed.

    `job`: S, without sprinting; `timeout_s`: T >= 0; `speed_up`: v >= 1. This is Rocha's thesis,
    section 4.4.1, with an unlimited budget. Raises ModelError for other values.
    """

    job: PhaseType
    timeout_s: float
    speed_up: float

    def __post_init__(self) -> None:
        if not 0 <= self.timeout_s < math.inf:
            raise ModelError(f"a sprint's timeout is a time from 0 on, not {self.timeout_s}")
        if not 1 <= self.speed_up < math.inf:
            raise ModelError(f"a sprint's speed-up is 1 or more, not {self.speed_up}")

    @property
    def mean(self) -> float:
        """The mean, s."""
        return self.moment(1)

    @property
    def sprinting_s(self) -> float:
        """The mean time that a job sprints, s."""
        if self._sprint_probability == 0:
            return 0.0
        return self._sprint_probability * self._rest.mean / self.speed_up

    def moment(self, k: int, tilt: float = 0.0) -> float:
        """Return E[X^k exp(tilt X)], infinity where it diverges; `tilt` in 1/s."""
        before = 0.0
        if self.timeout_s > 0:
            times, weights = self.job.quadrature(self.timeout_s, self.timeout_s)
            before = float((times**k * np.exp(tilt * times)) @ weights)
        if self._sprint_probability == 0:
            return before
        after = sum(
            math.comb(k, j)
            * self.timeout_s ** (k - j)
            * self._rest.moment(j, tilt / self.speed_up)
            / self.speed_up**j
            for j in range(k + 1)
        )
        return before + self._sprint_probability * math.exp(tilt * self.timeout_s) * after

    def laplace(self, s: ArrayLike) -> NDArray[np.complex128]:
        """Return E[exp(-sX)] for every complex `s`, 1/s, in its shape."""
        points = np.asarray(s, np.complex128)
        if self._sprint_probability == 0:
            return self.job.laplace(points)
        saved = self._rest.laplace(points) - self._rest.laplace(points / self.speed_up)
        reached = self._sprint_probability * np.exp(-points * self.timeout_s)
        return np.asarray(self.job.laplace(points) - reached * saved)

    def quadrature(
        self, upto: float, widest: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times x and weights w, (n,) each: E[g(X); X <= upto] is about g(x) @ w."""
        unsprinted_s = min(upto, self.timeout_s) + self.speed_up * max(upto - self.timeout_s, 0.0)
        times, weights = self.job.quadrature(unsprinted_s, widest, [self.timeout_s])
        late_times = np.maximum(times - self.timeout_s, 0.0)
        return times - late_times * (1 - 1 / self.speed_up), weights

    @cached_property
    def _sprint_probability(self) -> float:
        probability = float(1 - self.job.cdf(self.timeout_s))
        return probability if probability > 1e-15 else 0.0

    @cached_property
    def _rest(self) -> PhaseType:
        """The remaining time, at normal speed, of a job that reaches the timeout."""
        return self.job.remaining(self.timeout_s)
