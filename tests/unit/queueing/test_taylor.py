import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

from trimtab.queueing.taylor import Taylor

ORDER = 6
coefficient = st.floats(-3, 3, allow_subnormal=False)
series = st.lists(coefficient, min_size=ORDER + 1, max_size=ORDER + 1).map(
    lambda c: Taylor(np.array(c))
)
nonzero = st.floats(0.5, 3) | st.floats(-3, -0.5)


def exponential_series(rate: float) -> Taylor:
    """1 / (1 + s / rate)."""
    return Taylor(np.array([(-1 / rate) ** k for k in range(ORDER + 1)]))


@given(series, series, series)
def test_arithmetic_is_that_of_polynomials(a: Taylor, b: Taylor, c: Taylor) -> None:
    def cut(p: Polynomial) -> list[float]:
        return [*p.coef.tolist(), *[0.0] * ORDER][: ORDER + 1]

    p, q = Polynomial(a.coefficients), Polynomial(b.coefficients)
    np.testing.assert_allclose(
        (a * b + 2.0 - c).coefficients, cut(p * q + 2.0 - Polynomial(c.coefficients)), atol=1e-9
    )
    inner = Taylor(np.concatenate([[0.0], c.coefficients[1:]]))
    composed = p(Polynomial(inner.coefficients))
    np.testing.assert_allclose(a(inner).coefficients, cut(composed), rtol=1e-9, atol=1e-6)


@given(series, series, nonzero)
def test_division_undoes_multiplication(a: Taylor, b: Taylor, first: float) -> None:
    divisor = Taylor(np.concatenate([[first], b.coefficients[1:] / 4]))
    scale = 1 + np.abs((a * divisor).coefficients).max() * 10**5
    np.testing.assert_allclose(
        (a * divisor / divisor).coefficients, a.coefficients, atol=1e-13 * scale
    )


def test_a_common_factor_s_costs_one_power() -> None:
    s = Taylor.variable(ORDER)
    quotient = (2.0 * s + 3.0 * s * s) / (4.0 * s)
    np.testing.assert_allclose(quotient.coefficients, [0.5, 0.75, *[0.0] * (ORDER - 2)])


@given(nonzero, series)
def test_the_inverse_function(slope: float, other: Taylor) -> None:
    function = Taylor(np.concatenate([[0.0, slope], other.coefficients[2:] / 10]))
    back = function(function.inverse())
    np.testing.assert_allclose(back.coefficients, np.eye(ORDER + 1)[1], atol=1e-6)


def test_known_series() -> None:
    exponential = Taylor.of_moments([1.0] * (ORDER + 1), sign=1)  # exp(s)
    logarithm = (exponential - 1.0).inverse()  # log(1 + s)
    expected = [0.0, *[(-1) ** (k + 1) / k for k in range(1, ORDER + 1)]]
    np.testing.assert_allclose(logarithm.coefficients, expected, atol=1e-14)
    time = exponential_series(0.5)
    assert [time.moment(k) for k in range(4)] == pytest.approx([1, 2, 8, 48])
    assert [Taylor.of_moments([1, 2, 8, 48]).moment(k) for k in range(4)] == [1, 2, 8, 48]


def test_of_two_orders_the_lower_one_is_known() -> None:
    long, short = Taylor.variable(5), Taylor.variable(3)
    for result in (long + short, long * short, (long + 1.0) / (short + 1.0), short - long):
        assert result.order == 3
    assert (1.0 - long).coefficients[0] == 1
