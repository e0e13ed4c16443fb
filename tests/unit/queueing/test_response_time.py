import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_type import PhaseType, erlang, exponential, hyperexponential
from trimtab.queueing.response import ResponseTime, power_series

TIMES = np.array([0.01, 0.3, 0.8, 1.0, 1.2, 2.0, 5.0, 10.0])
KNOWN = [
    exponential(1.0),
    erlang(10, 10.0),
    erlang(60, 60.0),
    hyperexponential([0.9, 0.1], [9, 0.1]),
]


def of(distribution: PhaseType, radius: float = 3.0) -> ResponseTime:
    return ResponseTime(distribution.laplace, radius)


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("radius", [0.3, 3.0, 1e3])
def test_moments_are_those_of_the_distribution(known: PhaseType, radius: float) -> None:
    response = of(known, radius)
    assert response.mean == pytest.approx(known.mean, rel=1e-11)
    for k in range(1, 6):
        assert response.moment(k) == pytest.approx(known.moment(k), rel=1e-8)


@pytest.mark.parametrize("known", KNOWN)
def test_the_distribution_comes_back(known: PhaseType) -> None:
    response = of(known)
    np.testing.assert_allclose(response.cdf(TIMES), known.cdf(TIMES), atol=1e-9)
    np.testing.assert_allclose(response.tail(TIMES), 1 - known.cdf(TIMES), atol=1e-9)


def test_times_may_be_many_and_in_any_shape_and_order() -> None:
    times = np.array([[3.0, -1.0, 0.0], [np.inf, 0.5, 3.0]])
    expected = np.where(times > 0, np.exp(-np.maximum(times, 0)), 1.0)
    np.testing.assert_allclose(of(exponential(1.0)).tail(times), expected, atol=1e-9)
    many = np.random.default_rng(1).uniform(0, 9, 100)
    np.testing.assert_allclose(of(exponential(1.0)).tail(many), np.exp(-many), atol=1e-9)
    assert of(exponential(1.0)).cdf(2.0).shape == ()


@given(st.floats(1e-4, 1 - 1e-5), st.integers(1, 30), st.floats(1e-3, 1e3))
@settings(max_examples=40)
def test_quantiles_invert_the_distribution(p: float, phases: int, rate: float) -> None:
    response = of(erlang(phases, rate), radius=rate)
    exact = gamma.ppf(p, phases, scale=1 / rate)
    # An error of 1e-9 in the distribution is one of 1e-9 over the density in the quantile.
    allowed = 3e-9 / gamma.pdf(exact, phases, scale=1 / rate) + 1e-8 * exact
    assert response.quantile(p) == pytest.approx(exact, abs=allowed)


def test_the_ends_of_quantiles() -> None:
    response = of(exponential(1.0))
    assert response.quantile(0.0) == 0.0
    assert response.quantile(1 - 1e-6) == pytest.approx(6 * math.log(10), rel=1e-3)
    for p in (-0.1, 1.0, 0.9999999, math.nan):
        with pytest.raises(ModelError, match="probability"):
            response.quantile(p)


@pytest.mark.parametrize("k", [0, -1, 9])
def test_other_moments_are_refused(k: int) -> None:
    with pytest.raises(ModelError, match="moments"):
        of(exponential(1.0)).moment(k)


def test_the_circle_shrinks_past_what_is_not_a_number() -> None:
    def laplace(s: np.ndarray) -> np.ndarray:
        return np.where(np.abs(s) < 0.4, 1 / (1 + s), np.nan)

    np.testing.assert_allclose(power_series(laplace, 50.0)[:6], [1, -1, 1, -1, 1, -1], rtol=1e-8)


def test_a_function_that_is_not_analytic_has_no_series() -> None:
    with pytest.raises(ModelError, match="no circle"):
        power_series(lambda s: np.exp(-np.abs(s)) + 0j, 1.0)
