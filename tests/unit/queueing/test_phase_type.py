import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from phase_types import convolve, mixture, scaled
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.stats import expon, gamma, kstest

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_type import (
    PhaseType,
    erlang,
    exponential,
    fit_two_moments,
    hyperexponential,
)

# Phases that are left for each other, one of them fast: no chain, complex eigenvalues.
CYCLE = PhaseType(
    np.array([0.2, 0.5, 0.3]),
    np.array([[-5.0, 4.5, 0.0], [0.0, -6.0, 5.5], [5.0, 0.0, -5.2]]),
)
SOME = [
    exponential(0.5),
    erlang(7, 3.0),
    hyperexponential([0.1, 0.9], [0.2, 4.0]),
    CYCLE,
    mixture([0.3, 0.7], [erlang(4, 2.0), exponential(9.0)]),
]


@st.composite
def phase_types(draw: st.DrawFn) -> PhaseType:
    phases = draw(st.integers(1, 5))
    rate = st.floats(0.05, 10)
    rates = np.array(
        draw(
            st.lists(
                st.lists(rate, min_size=phases + 1, max_size=phases + 1),
                min_size=phases,
                max_size=phases,
            )
        )
    )
    matrix = rates[:, :phases] * (1 - np.eye(phases))
    alpha = np.array(draw(st.lists(rate, min_size=phases, max_size=phases)))
    leaving = matrix.sum(axis=1) + rates[:, phases]
    return PhaseType(alpha / alpha.sum(), matrix - np.diag(leaving))


def test_an_erlang_time_is_a_gamma_time() -> None:
    t = np.linspace(0, 60, 500)
    for phases, rate in ((1, 0.3), (7, 2.0), (60, 30.0)):
        time, known = erlang(phases, rate), gamma(phases, scale=1 / rate)
        np.testing.assert_allclose(time.cdf(t), known.cdf(t), atol=1e-13)
        np.testing.assert_allclose(1 - time.cdf(t), known.sf(t), atol=1e-13)
        np.testing.assert_allclose(time.density(t), known.pdf(t), rtol=1e-9, atol=1e-13)
        for k in range(1, 5):
            assert time.moment(k) == pytest.approx(known.moment(k), rel=1e-12)
        assert time.moment(2, -0.4) == pytest.approx(
            phases * (phases + 1) / rate**2 * (1 + 0.4 / rate) ** -(phases + 2), rel=1e-12
        )
        assert time.quantile(0.95) == pytest.approx(known.ppf(0.95), rel=1e-10)
        s = np.array([[0.0, 1 + 3j], [1000j, 0.01]])
        np.testing.assert_allclose(time.laplace(s), (rate / (rate + s)) ** phases, rtol=1e-11)


@pytest.mark.parametrize("time", SOME)
def test_transform_and_moments_are_integrals_over_the_density(time: PhaseType) -> None:
    def expectation(k: int, exponent: complex) -> complex:
        def integrand(x: float, part: str) -> float:
            value = x**k * np.exp(exponent * x) * float(time.density(x))
            return float(getattr(value, part))

        end = 60 * np.sqrt(time.moment(2))
        return complex(
            quad(integrand, 0, end, ("real",), limit=400, epsabs=1e-11)[0],
            quad(integrand, 0, end, ("imag",), limit=400, epsabs=1e-11)[0],
        )

    assert expectation(0, 0) == pytest.approx(1, abs=1e-8)
    assert expectation(1, 0) == pytest.approx(time.mean, rel=1e-7)
    tilt = 0.02 / time.mean
    assert expectation(2, tilt) == pytest.approx(time.moment(2, tilt), rel=1e-6)
    s = complex(0.3, 2.0)
    assert expectation(0, -s) == pytest.approx(complex(time.laplace(s)), abs=1e-8)


@pytest.mark.parametrize("time", SOME)
def test_the_two_ways_to_the_distribution_agree(time: PhaseType) -> None:
    t = np.array([0.0, 1e-3, 0.5, 2.0, 7.0])
    direct = np.array([time.alpha @ expm(time.matrix * x) @ np.ones(time.phases) for x in t])
    np.testing.assert_allclose(1 - time.cdf(t), direct, atol=1e-13)


def test_a_stiff_distribution_is_no_trouble() -> None:
    time = convolve(exponential(1e6), exponential(0.01))
    t = np.array([10.0, 100.0, 700.0])
    np.testing.assert_allclose(time.cdf(t), expon(scale=100).cdf(t), atol=1e-6)
    assert time.quantile(0.5) == pytest.approx(100 * math.log(2), rel=1e-6)


def test_outside_of_the_positive_times() -> None:
    np.testing.assert_array_equal(CYCLE.cdf([-1.0, -1e-9, math.inf]), [0, 0, 1])
    np.testing.assert_array_equal(CYCLE.density([-1.0, math.inf]), [0, 0])
    assert exponential(2.0).density(0.0) == 2.0
    assert CYCLE.quantile(0) == 0


@given(phase_types(), st.floats(0.001, 0.9999))
@settings(max_examples=40)
def test_the_distribution_rises_from_0_to_1_and_the_quantile_inverts_it(
    time: PhaseType, p: float
) -> None:
    cdf = time.cdf(np.linspace(0, 20 * time.mean, 50))
    assert cdf[0] == pytest.approx(0, abs=1e-14)
    assert (np.diff(cdf) > -1e-14).all() and cdf[-1] <= 1 + 1e-14
    assert float(time.cdf(time.quantile(p))) == pytest.approx(p, abs=1e-10)
    nodes, weights = time.quadrature(math.inf, 0.5 * time.mean)
    for k in range(4):
        assert nodes**k @ weights == pytest.approx(time.moment(k), rel=1e-9)


@given(st.floats(1e-3, 1e4), st.floats(0.01, 100))
@settings(max_examples=80)
def test_a_fit_has_the_two_moments(mean: float, scv: float) -> None:
    fitted = fit_two_moments(mean, scv)
    assert fitted.mean == pytest.approx(mean, rel=1e-9)
    assert fitted.scv == pytest.approx(scv, rel=1e-6)
    assert fitted.phases <= 101


@given(phase_types(), phase_types(), st.floats(0, 1), st.floats(0.1, 10))
@settings(max_examples=40)
def test_sum_mixture_and_scaling_by_their_transforms(
    first: PhaseType, second: PhaseType, p: float, factor: float
) -> None:
    s = np.array([0.1, 1 + 2j, 30j])
    a, b = first.laplace(s), second.laplace(s)
    np.testing.assert_allclose(convolve(first, second).laplace(s), a * b, atol=1e-12)
    mixed = mixture([p, 1 - p], [first, second])
    np.testing.assert_allclose(mixed.laplace(s), p * a + (1 - p) * b, atol=1e-12)
    np.testing.assert_allclose(scaled(first, factor).laplace(s / factor), a, atol=1e-12)


@pytest.mark.parametrize("time", SOME)
def test_samples_follow_the_distribution(time: PhaseType) -> None:
    drawn: NDArray[np.float64] = time.sample(np.random.default_rng(7), 20_000)
    assert kstest(drawn, time.cdf).pvalue > 1e-3
    again = time.sample(np.random.default_rng(7), 20_000)
    np.testing.assert_array_equal(drawn, again)


def test_what_remains_of_a_time() -> None:
    for time in SOME:
        rest, t = time.remaining(1.3), np.array([0.1, 1.0, 5.0])
        expected = (1 - time.cdf(1.3 + t)) / (1 - time.cdf(1.3))
        np.testing.assert_allclose(1 - rest.cdf(t), expected, rtol=1e-10)
    with pytest.raises(ModelError, match="lasts"):
        exponential(1.0).remaining(1e5)


def test_a_tilted_moment_diverges_from_the_slowest_rate_on() -> None:
    time = hyperexponential([0.001, 0.999], [0.5, 4.0])
    assert time.moment(0, 0.49) == pytest.approx(0.001 * 0.5 / 0.01 + 0.999 * 4 / 3.51)
    assert time.moment(0, 0.5) == math.inf
    assert time.moment(1, 0.6) == math.inf


@pytest.mark.parametrize(
    ("alpha", "matrix", "message"),
    [
        ([0.5, 0.4], [[-1, 0], [0, -1]], "sum to 1"),
        ([1.5, -0.5], [[-1, 0], [0, -1]], "sum to 1"),
        ([1.0], [[-1, 0], [0, -1]], r"alpha \(n,\)"),
        ([], np.zeros((0, 0)), r"alpha \(n,\)"),
        ([1, 0], [[-1, -0.1], [0, -1]], "no negative rate"),
        ([1, 0], [[-1, 1], [0, 0]], "phase 1 is never left"),
        ([1, 0], [[-1, 2], [0, -1]], "sums to zero or less"),
        ([1, 0], [[-1, 1], [1, -1]], "within reach"),
        ([1, 0, 0], [[-3, 1, 1], [0, -1, 1], [0, 1, -1]], "within reach"),
        ([1, 0], [[-1, np.nan], [0, -1]], "finite"),
    ],
)
def test_what_is_no_phase_type_distribution(
    alpha: list[float], matrix: list[list[float]], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        PhaseType(np.array(alpha), np.array(matrix))


def test_parameters_that_are_none() -> None:
    for wrong in (0.0, -1.0, math.inf, math.nan):
        for make in (
            exponential,
            lambda x: fit_two_moments(x, 1.0),
            lambda x: fit_two_moments(1.0, x),
        ):
            with pytest.raises(ModelError):
                make(wrong)
    with pytest.raises(ModelError, match="more than 1000 phases"):
        fit_two_moments(1.0, 1e-4)
    with pytest.raises(ModelError, match="do not fit"):
        hyperexponential([1.0], [1.0, 2.0])
    with pytest.raises(ModelError, match=r"in \[0, 1\)"):
        CYCLE.quantile(1.0)
