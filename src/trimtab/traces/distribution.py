"""Distributions of a job's work, by their mean and their shape."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UserError


class Distribution(Protocol):
    """A non-negative distribution; of work, in seconds."""

    @property
    def mean(self) -> float:
        """The expected value."""

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws, float64."""


def _check(name: str, value: float, holds: bool, expected: str) -> None:
    if not (np.isfinite(value) and holds):
        raise UserError(f"{name} is {value:g}, expected {expected}")


@dataclass(frozen=True)
class Deterministic:
    """Always `mean`, 0 or more."""

    mean: float

    def __post_init__(self) -> None:
        _check("mean", self.mean, self.mean >= 0, "0 or more")

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` times the mean."""
        return np.full(size, self.mean, np.float64)


@dataclass(frozen=True)
class Exponential:
    """Exponential with mean `mean`, above 0."""

    mean: float

    def __post_init__(self) -> None:
        _check("mean", self.mean, self.mean > 0, "more than 0")

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        return rng.exponential(self.mean, size)


@dataclass(frozen=True)
class Erlang:
    """The sum of `phases` equal exponential phases, with total mean `mean`."""

    mean: float
    phases: int

    def __post_init__(self) -> None:
        _check("mean", self.mean, self.mean > 0, "more than 0")
        whole = self.phases >= 1 and self.phases == int(self.phases)
        _check("phases", self.phases, whole, "a whole number, 1 or more")

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        return rng.gamma(self.phases, self.mean / self.phases, size)


@dataclass(frozen=True)
class Uniform:
    """Uniform from `low`, 0 or more, to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check("low", self.low, self.low >= 0, "0 or more")
        _check("high", self.high, self.high >= self.low, f"at least low ({self.low:g})")

    @property
    def mean(self) -> float:
        """The expected value."""
        return (self.low + self.high) / 2

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        return rng.uniform(self.low, self.high, size)


@dataclass(frozen=True)
class LogNormal:
    """Log-normal by its mean and its squared coefficient of variation `scv`, both above 0."""

    mean: float
    scv: float

    def __post_init__(self) -> None:
        _check("mean", self.mean, self.mean > 0, "more than 0")
        _check("scv", self.scv, self.scv > 0, "more than 0")

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        variance = np.log1p(self.scv)
        return rng.lognormal(np.log(self.mean) - variance / 2, np.sqrt(variance), size)


@dataclass(frozen=True)
class HyperExponential:
    """One of two exponentials, by mean and squared coefficient of variation `scv`, 1 or more.

    Balanced means: each contributes half of the mean, which leaves one solution.
    """

    mean: float
    scv: float

    def __post_init__(self) -> None:
        _check("mean", self.mean, self.mean > 0, "more than 0")
        _check("scv", self.scv, self.scv >= 1, "1 or more")

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        first = (1 + math.sqrt((self.scv - 1) / (self.scv + 1))) / 2
        share = np.where(rng.random(size) < first, first, 1 - first)
        return rng.exponential(self.mean / (2 * share), size)
