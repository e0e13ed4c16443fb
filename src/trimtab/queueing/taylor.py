"""Truncated power series about zero: Laplace transforms known by their moments."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Taylor:
    """c0 + c1 s + ... up to the highest known power. `coefficients`: (order + 1,)."""

    coefficients: NDArray[np.float64]

    @classmethod
    def variable(cls, order: int) -> "Taylor":
        """Return s itself."""
        return cls(np.eye(order + 1)[min(1, order)])

    @classmethod
    def of_moments(cls, moments: Sequence[float], sign: int = -1) -> "Taylor":
        """Return E[exp(sign s X)] for X with the `moments` E[X^0], E[X^1], ..."""
        return cls(np.array([sign**k * m / math.factorial(k) for k, m in enumerate(moments)]))

    @property
    def order(self) -> int:
        """The highest power that is known."""
        return self.coefficients.size - 1

    def moment(self, k: int) -> float:
        """Return E[X^k] where the series is E[exp(-sX)]."""
        return float((-1) ** k * math.factorial(k) * self.coefficients[k])

    def __add__(self, other: "Taylor | float") -> "Taylor":
        if isinstance(other, Taylor):
            known = min(self.coefficients.size, other.coefficients.size)
            return Taylor(self.coefficients[:known] + other.coefficients[:known])
        return Taylor(np.concatenate([self.coefficients[:1] + other, self.coefficients[1:]]))

    __radd__ = __add__

    def __neg__(self) -> "Taylor":
        return Taylor(-self.coefficients)

    def __sub__(self, other: "Taylor | float") -> "Taylor":
        return self + -other

    def __rsub__(self, other: float) -> "Taylor":
        return -self + other

    def __mul__(self, other: "Taylor | float") -> "Taylor":
        if isinstance(other, Taylor):
            known = min(self.coefficients.size, other.coefficients.size)
            return Taylor(np.convolve(self.coefficients, other.coefficients)[:known])
        return Taylor(self.coefficients * other)

    __rmul__ = __mul__

    def __truediv__(self, other: "Taylor") -> "Taylor":
        """Return the quotient; where both begin with s, its order is one lower."""
        known = min(self.coefficients.size, other.coefficients.size)
        above, below = self.coefficients[:known], other.coefficients[:known]
        if above[0] == 0 and below[0] == 0:
            above, below = above[1:], below[1:]
        quotient = np.zeros(above.size)
        for k in range(above.size):
            quotient[k] = (above[k] - quotient[:k] @ below[k:0:-1]) / below[0]
        return Taylor(quotient)

    def __call__(self, inner: "Taylor") -> "Taylor":
        """Return the series of self(inner(s)) for an `inner` that is 0 at 0."""
        result = inner * 0.0
        for coefficient in self.coefficients[::-1]:
            result = result * inner + float(coefficient)
        return result

    def inverse(self) -> "Taylor":
        """Return the series r with self(r(s)) = s, for a series that is 0 at 0.

        Each step of Newton's method with a fixed slope gives one more coefficient.
        """
        identity = Taylor.variable(self.order)
        slope = float(self.coefficients[1])
        result = identity * (1 / slope)
        for _ in range(self.order):
            result = result - (self(result) - identity) * (1 / slope)
        return result
