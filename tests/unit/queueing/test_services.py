import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_type import (
    PhaseType,
    erlang,
    exponential,
    fit_two_moments,
    hyperexponential,
)
from trimtab.queueing.services import Sprinted

JOBS = [
    exponential(0.7),
    erlang(8, 4.0),
    hyperexponential([0.2, 0.8], [0.3, 5.0]),
    fit_two_moments(2.0, 0.37),
]


def integral(
    job: PhaseType, timeout_s: float, speed_up: float, exponent: complex, k: int
) -> complex:
    """E[X^k exp(exponent X)] of X = min(S, T) + max(S - T, 0) / v over S's own density."""

    def part(x: float, imaginary: bool) -> float:
        time = min(x, timeout_s) + max(x - timeout_s, 0) / speed_up
        value = time**k * np.exp(exponent * time) * float(job.density(x))
        return float(value.imag if imaginary else value.real)

    total = 0j
    end = 40 * math.sqrt(job.moment(2))
    edges = [0.0, timeout_s, *np.linspace(timeout_s, end, 7)[1:].tolist()]
    for low, high in pairwise(edges):
        total += quad(part, low, high, (False,), limit=200, epsabs=1e-10)[0]
        total += 1j * quad(part, low, high, (True,), limit=200, epsabs=1e-10)[0]
    return total


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize(("timeout_s", "speed_up"), [(1.1, 2.5), (4.0, 1.3)])
def test_against_the_integral(job: PhaseType, timeout_s: float, speed_up: float) -> None:
    sprinted = Sprinted(job, timeout_s, speed_up)
    assert sprinted.mean == pytest.approx(integral(job, timeout_s, speed_up, 0, 1).real, rel=1e-8)
    assert sprinted.moment(3) == pytest.approx(
        integral(job, timeout_s, speed_up, 0, 3).real, rel=1e-7
    )
    tilt = 0.02 / job.mean
    assert sprinted.moment(1, tilt) == pytest.approx(
        integral(job, timeout_s, speed_up, tilt, 1).real, rel=1e-7
    )
    s = complex(0.4, 1.9)
    assert complex(sprinted.laplace(s)) == pytest.approx(
        integral(job, timeout_s, speed_up, -s, 0), abs=1e-9
    )


def test_an_exponential_job_by_hand() -> None:
    # Before T at rate 1, from T on at rate 3.
    sprinted = Sprinted(exponential(1.0), 2.0, 3.0)
    late = math.exp(-2.0)
    assert sprinted.mean == pytest.approx(1 - late + late / 3, rel=1e-14)
    assert sprinted.sprinting_s == pytest.approx(late / 3, rel=1e-14)


@pytest.mark.parametrize("timeout_s", [5e-324, 1e-310, 1e-300])
def test_a_timeout_as_good_as_none_is_a_sprint_from_the_start(timeout_s: float) -> None:
    for job in JOBS:
        sprinted, at_once = Sprinted(job, timeout_s, 2.0), Sprinted(job, 0.0, 2.0)
        assert sprinted.mean == pytest.approx(at_once.mean, rel=1e-14)


@given(st.sampled_from(JOBS), st.floats(0, 8), st.floats(1, 5))
@settings(max_examples=25)
def test_nodes_transform_and_moments_are_of_one_time(
    job: PhaseType, timeout_s: float, speed_up: float
) -> None:
    sprinted = Sprinted(job, timeout_s, speed_up)
    times, weights = sprinted.quadrature(math.inf, 0.5)
    for k in range(4):
        assert times**k @ weights == pytest.approx(sprinted.moment(k), rel=1e-9)
    s = np.array([0.3, 1 + 4j])
    np.testing.assert_allclose(
        np.exp(-s[:, None] * times) @ weights, sprinted.laplace(s), atol=1e-10
    )
    assert sprinted.mean <= job.mean * (1 + 1e-12)
    spared = (speed_up - 1) * sprinted.sprinting_s
    assert sprinted.mean + spared == pytest.approx(job.mean, rel=1e-9)


@pytest.mark.parametrize("job", JOBS)
def test_the_limits(job: PhaseType) -> None:
    s = np.array([0.3, 1 + 4j])
    at_once, never, no_faster = (
        Sprinted(job, 0.0, 2.0),
        Sprinted(job, 1e4, 2.0),
        Sprinted(job, 1, 1),
    )
    np.testing.assert_allclose(at_once.laplace(s), job.laplace(s / 2), atol=1e-13)
    assert at_once.moment(2) == pytest.approx(job.moment(2) / 4, rel=1e-10)
    assert never.sprinting_s == 0
    for same in (never, no_faster):
        np.testing.assert_allclose(same.laplace(s), job.laplace(s), atol=1e-13)
        assert same.moment(2) == pytest.approx(job.moment(2), rel=1e-10)


def test_a_sprint_makes_moments_finite_that_were_not() -> None:
    job = exponential(1.0)
    assert job.moment(0, 1.5) == math.inf
    expected = (1 - math.exp(-1 + 1.5)) / (1 - 1.5) + math.exp(-1 + 1.5) * 2 / (2 - 1.5)
    assert Sprinted(job, 1.0, 2.0).moment(0, 1.5) == pytest.approx(expected, rel=1e-12)
    assert Sprinted(job, 1.0, 2.0).moment(0, 2.0) == math.inf


@pytest.mark.parametrize(
    ("timeout_s", "speed_up"), [(-1.0, 2.0), (math.inf, 2.0), (1.0, 0.9), (1.0, math.nan)]
)
def test_what_is_no_sprint(timeout_s: float, speed_up: float) -> None:
    with pytest.raises(ModelError, match="sprint"):
        Sprinted(exponential(1.0), timeout_s, speed_up)
