"""Draws against the moments and the distribution functions of scipy."""

import numpy as np
import pytest
from scipy import stats

from trimtab.errors import UserError
from trimtab.traces.distribution import (
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    HyperExponential,
    LogNormal,
    Uniform,
)


def hyper_exponential_cdf(x: np.ndarray, mean: float, scv: float) -> np.ndarray:
    """Two moments, solved by another way: p/l1 = (1-p)/l2 = mean/2, second moment matched."""
    # 2 p/l1^2 + 2 (1-p)/l2^2 = mean^2/2 (1/p + 1/(1-p)) = mean^2 (1 + scv).
    p = np.roots([1, -1, 1 / (2 * (1 + scv))])[0].real
    return 1 - p * np.exp(-2 * p * x / mean) - (1 - p) * np.exp(-2 * (1 - p) * x / mean)


CASES = [
    (Exponential(3.0), stats.expon(scale=3).cdf, 3.0),
    (Erlang(3.0, 10), stats.gamma(10, scale=0.3).cdf, 3.0),
    (Uniform(500.0, 1000.0), stats.uniform(500, 500).cdf, 750.0),
    (LogNormal(3.0, 2.5), stats.lognorm(s=np.sqrt(np.log(3.5)), scale=3 / np.sqrt(3.5)).cdf, 3.0),
    (HyperExponential(3.0, 4.0), lambda x: hyper_exponential_cdf(x, 3.0, 4.0), 3.0),
    (HyperExponential(3.0, 1.0), stats.expon(scale=3).cdf, 3.0),
]


@pytest.mark.parametrize(
    ("distribution", "cdf", "mean"), CASES, ids=[repr(case[0]) for case in CASES]
)
def test_draws_follow_the_distribution(
    distribution: Distribution, cdf: object, mean: float
) -> None:
    draws = distribution.draw(np.random.default_rng(7), 40_000)
    assert distribution.mean == mean
    assert draws.dtype == np.float64 and (draws >= 0).all()
    assert stats.kstest(draws, cdf).pvalue > 0.001
    assert abs(draws.mean() - mean) < 4 * draws.std() / 200


def test_moments_by_mean_and_scv() -> None:
    for one in (LogNormal(2.0, 1.5), HyperExponential(2.0, 1.5)):
        draws = one.draw(np.random.default_rng(3), 2_000_000)
        assert draws.var() / draws.mean() ** 2 == pytest.approx(1.5, rel=0.03)


def test_deterministic_is_always_the_same() -> None:
    assert Deterministic(2.5).draw(np.random.default_rng(), 3).tolist() == [2.5] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exponential(0), "mean is 0, expected more than 0"),
        (lambda: Exponential(float("nan")), "mean is nan"),
        (lambda: Erlang(1, 0), "phases is 0, expected a whole number, 1 or more"),
        (lambda: Erlang(1, 1.5), "phases is 1.5"),
        (lambda: Uniform(-1, 2), "low is -1, expected 0 or more"),
        (lambda: Uniform(3, 2), r"high is 2, expected at least low \(3\)"),
        (lambda: LogNormal(1, 0), "scv is 0, expected more than 0"),
        (lambda: HyperExponential(1, 0.5), "scv is 0.5, expected 1 or more"),
        (lambda: Deterministic(-1), "mean is -1, expected 0 or more"),
    ],
)
def test_what_is_refused(make: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()
