import math

import numpy as np
import pytest
from closed_forms import (
    cobham,
    pollaczek_khinchine,
    preemptive_mm1,
    preemptive_repeat,
    preemptive_resume,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from phase_types import convolve
from repeating_server import simulate_repeating
from scipy.stats import t as student
from simulated_priority import simulated_responses

from trimtab.queueing.errors import ModelError, UnstableQueueError
from trimtab.queueing.mmap import poisson
from trimtab.queueing.mmap_priority import priority_queue
from trimtab.queueing.phase_type import (
    PhaseType,
    erlang,
    exponential,
    fit_two_moments,
    hyperexponential,
)
from trimtab.queueing.poisson_priority import (
    Discipline,
    PriorityResponse,
    response_times,
    server_time_s,
    waste,
)
from trimtab.queueing.poisson_priority import (
    execution_s as execution_s_of,
)
from trimtab.queueing.services import Sprinted

NON_PREEMPTIVE, RESUME, REPEAT, RESAMPLE = Discipline
FORMULAS = {NON_PREEMPTIVE: cobham, RESUME: preemptive_resume, REPEAT: preemptive_repeat}
THREE = [erlang(3, 6.0), fit_two_moments(1.0, 0.3), erlang(2, 3.0)]
RATES = [0.15, 0.1, 0.25]


def means(responses: list[PriorityResponse]) -> list[float]:
    return [each.mean for each in responses]


@st.composite
def queues(draw: st.DrawFn) -> tuple[list[float], list[PhaseType]]:
    classes = draw(st.integers(1, 4))
    services = [
        fit_two_moments(draw(st.floats(0.2, 5)), draw(st.floats(0.1, 6))) for _ in range(classes)
    ]
    weights = [draw(st.floats(0.1, 1)) / service.mean for service in services]
    load = draw(st.floats(0.1, 0.95))
    offered = sum(w * s.mean for w, s in zip(weights, services, strict=True))
    return [w * load / offered for w in weights], services


def waiting_s(response: PriorityResponse) -> float:
    """The mean time from arrival to the first start."""
    with np.errstate(invalid="ignore"):
        return response.parts(2)[0].moment(1)


def execution_s(response: PriorityResponse) -> float:
    """The mean time from the first start to the end, interruptions and repetitions."""
    return response.parts(1)[1].moment(1)


def test_one_class_of_exponential_services_is_mm1() -> None:
    t = np.array([0.0, 1e-3, 0.1, 1.0, 5.0, 40.0])
    for discipline in Discipline:
        (one,) = response_times([0.8], [exponential(1.0)], discipline)
        np.testing.assert_allclose(one.tail(t), np.exp(-0.2 * t), atol=1e-9)
        assert one.mean == pytest.approx(5, rel=1e-12)
        assert one.moment(2) == pytest.approx(50, rel=1e-12)
        assert one.moment(5) == pytest.approx(math.factorial(5) * 5**5, rel=1e-10)
        assert one.quantile(0.95) == pytest.approx(5 * math.log(20), rel=1e-8)
        assert waiting_s(one) == pytest.approx(4, rel=1e-12)
        assert execution_s(one) == pytest.approx(1, rel=1e-12)


@given(queues())
@settings(max_examples=60)
def test_means_are_those_of_the_closed_forms(queue: tuple[list[float], list[PhaseType]]) -> None:
    rates, services = queue
    for discipline in (NON_PREEMPTIVE, RESUME):
        responses = response_times(rates, services, discipline)
        expected = FORMULAS[discipline](rates, services)
        assert means(responses) == pytest.approx(expected, rel=1e-10)
        for each in responses:
            assert waiting_s(each) + execution_s(each) == pytest.approx(each.mean, rel=1e-12)
    try:
        expected = preemptive_repeat(rates, services)
    except UnstableQueueError:
        return
    assert means(response_times(rates, services, REPEAT)) == pytest.approx(expected, rel=1e-9)


@given(queues())
@settings(max_examples=10)
def test_a_distribution_is_one(queue: tuple[list[float], list[PhaseType]]) -> None:
    rates, services = queue
    for discipline in (NON_PREEMPTIVE, RESUME):
        for each in response_times(rates, services, discipline):
            cdf = each.cdf(np.linspace(0, 8 * each.mean, 40))
            assert cdf[0] == 0 and (np.diff(cdf) > -1e-8).all() and cdf[-1] <= 1
            assert float(each.cdf(each.quantile(0.9))) == pytest.approx(0.9, abs=1e-8)


@pytest.mark.parametrize("discipline", Discipline)
def test_the_distribution_has_the_moments(discipline: Discipline) -> None:
    """Moments come from power series, the distribution from inverting: two ways to one answer."""
    for each in response_times(RATES, THREE, discipline):
        ends = 40 * each.mean * np.linspace(0, 1, 17) ** 2
        node, weight = np.polynomial.legendre.leggauss(5)
        half = np.diff(ends)[:, None] / 2
        t, w = (ends[:-1, None] + half * (node + 1)).ravel(), (half * weight).ravel()
        tail = each.tail(t)
        assert tail @ w == pytest.approx(each.mean, rel=1e-5)
        assert 2 * t * tail @ w == pytest.approx(each.moment(2), rel=1e-3)


def test_the_most_important_class_is_alone_when_it_preempts() -> None:
    t = np.linspace(0.01, 20, 9)
    for discipline in (RESUME, REPEAT):
        first = response_times([0.3, 0.5], [exponential(1.0), erlang(9, 9.0)], discipline)[0]
        np.testing.assert_allclose(first.tail(t), np.exp(-0.7 * t), atol=1e-9)


def test_the_most_important_class_by_hand_when_it_does_not() -> None:
    # M/M/1 with probability 1 - rho_2, M/M/1 and an exponential time more with rho_2
    first = response_times([0.3, 0.5], [exponential(1.0)] * 2, NON_PREEMPTIVE)[0]
    t = np.linspace(0.01, 20, 9)
    # W(s) = ((1 - rho) s + l2 s/(s+1)) (s+1) / (s (s + 1 - l1)) = (0.2 s + 0.7) / (s + 0.7);
    # times 1 / (s + 1): 0.2 of an exponential time of rate 1, the rest has the rate 0.7 added
    alone = np.exp(-t)
    both = 1 - convolve(exponential(1.0), exponential(0.7)).cdf(t)
    np.testing.assert_allclose(first.tail(t), 0.2 * alone + 0.8 * both, atol=1e-9)


def test_the_less_important_of_two_exponential_classes() -> None:
    # Preemptive resume of one rate: the delay of an M/M/1 job by the busy periods of class 1.
    rates = [0.2, 0.4]
    low = response_times(rates, [exponential(1.0)] * 2, RESUME)[1]
    assert low.mean == pytest.approx(preemptive_mm1(rates, 1.0)[1], rel=1e-12)
    s = np.array([0.1, 0.7 + 2j])
    busy = (1.2 + s - np.sqrt((1.2 + s) ** 2 - 0.8)) / 0.4
    delay = s + 0.2 * (1 - busy)
    expected = 0.4 * delay / (s * (1 + delay) - 0.4 * delay)
    np.testing.assert_allclose(low.laplace(s), expected, rtol=1e-9)


def test_gavers_values() -> None:
    for service, mean, wasted in (
        (erlang(10, 10.0), 3.0552, 0.074),
        (exponential(1.0), 7.257, 0.143),
    ):
        high, low = response_times([0.2, 0.4], [service] * 2, REPEAT)
        assert low.mean == pytest.approx(mean, abs=5e-4)
        alone = pollaczek_khinchine(0.2, service)[0] + 1
        assert high.mean == pytest.approx(alone, rel=1e-12)
        assert waste([0.2, 0.4], [service] * 2, REPEAT) == pytest.approx(wasted, abs=5e-4)
    assert waste([0.2, 0.4], [exponential(1.0)] * 2, REPEAT) == pytest.approx(1 / 7, rel=1e-12)
    assert waste([0.2], [exponential(1.0)], REPEAT) == 0


def test_the_solver_for_marked_markovian_arrivals_agrees() -> None:
    t = np.array([0.2, 1.0, 4.0, 15.0])
    for discipline in (NON_PREEMPTIVE, RESUME):
        ours = response_times(RATES, THREE, discipline)
        others = priority_queue(poisson(RATES), THREE, discipline)
        for one, other in zip(ours, others, strict=True):
            np.testing.assert_allclose(one.tail(t), other.tail(t), atol=1e-9)
            assert one.moment(3) == pytest.approx(other.moment(3), rel=1e-7)


def interval(values: NDArray[np.float64], batches: int = 30) -> tuple[float, float]:
    """The mean, and half of its 99.9 % confidence interval, by batch means."""
    size = values.size // batches
    of_batches = values[: size * batches].reshape(batches, size).mean(axis=1)
    return float(of_batches.mean()), float(
        student.ppf(0.9995, batches - 1) * of_batches.std(ddof=1) / math.sqrt(batches)
    )


def assert_simulated(
    responses: list[PriorityResponse], simulated: list[NDArray[np.float64]]
) -> None:
    for each, times in zip(responses, simulated, strict=True):
        mean, error = interval(times)
        assert each.mean == pytest.approx(mean, abs=error)
        for p in (0.5, 0.95):
            share, error = interval(1.0 * (times <= each.quantile(p)))
            assert p == pytest.approx(share, abs=error)


@pytest.mark.parametrize("discipline", [NON_PREEMPTIVE, RESUME])
def test_simulated(discipline: Discipline) -> None:
    simulated = simulated_responses(poisson(RATES), THREE, discipline is RESUME, 150_000, seed=2)
    assert_simulated(response_times(RATES, THREE, discipline), simulated)


@pytest.mark.parametrize("discipline", [REPEAT, RESAMPLE])
def test_simulated_repetitions(discipline: Discipline) -> None:
    simulated, wasted = simulate_repeating(RATES, THREE, 150_000, 5, discipline is RESAMPLE)
    assert_simulated(response_times(RATES, THREE, discipline), simulated)
    assert waste(RATES, THREE, discipline) == pytest.approx(wasted, rel=0.03)


@given(queues())
@settings(max_examples=30)
def test_resampled_exponential_times_are_resumed(
    queue: tuple[list[float], list[PhaseType]],
) -> None:
    """A new exponential time is distributed as the rest of the old one."""
    rates, services = queue
    exponentials = [exponential(1 / service.mean) for service in services]
    new, old = (response_times(rates, exponentials, each) for each in (RESAMPLE, RESUME))
    for one, other in zip(new, old, strict=True):
        assert [one.moment(k) for k in (1, 2, 3)] == pytest.approx(
            [other.moment(k) for k in (1, 2, 3)], rel=1e-8
        )
        assert waiting_s(one) == pytest.approx(waiting_s(other), rel=1e-9)
    t = old[-1].mean * np.array([0.1, 1.0, 4.0])
    np.testing.assert_allclose(new[-1].tail(t), old[-1].tail(t), atol=1e-8)


def test_resampled_equal_times_are_repeated() -> None:
    """Where all times of a class are nearly equal, a new one is the old one."""
    services = [erlang(900, 900 / mean) for mean in (1.0, 1.5, 0.5)]
    new, old = (response_times([0.15, 0.1, 0.2], services, each) for each in (RESAMPLE, REPEAT))
    assert means(new) == pytest.approx(means(old), rel=2e-3)
    assert float(new[2].tail(6.0)) == pytest.approx(float(old[2].tail(6.0)), rel=5e-3)


@given(queues())
@settings(max_examples=30)
def test_resampling_never_wastes_more_than_repeating(
    queue: tuple[list[float], list[PhaseType]],
) -> None:
    """By Jensen: a long time that is kept is interrupted again and again."""
    rates, services = queue
    again, new = (server_time_s(rates, services, each) for each in (REPEAT, RESAMPLE))
    assert all(one <= other * (1 + 1e-9) for one, other in zip(new, again, strict=True))
    finished = execution_s_of(rates, services, RESAMPLE)
    assert all(one <= each.mean * (1 + 1e-9) for one, each in zip(finished, services, strict=True))
    assert waste(rates, services, RESAMPLE) + 1e-12 >= 0


def test_sprinting_at_once_is_a_faster_server_for_that_class() -> None:
    slow, fast = erlang(4, 2.0), erlang(4, 5.0)
    for discipline in Discipline:
        sprinted = response_times([0.2, 0.2], [Sprinted(slow, 0.0, 2.5), slow], discipline)
        direct = response_times([0.2, 0.2], [fast, slow], discipline)
        assert means(sprinted) == pytest.approx(means(direct), rel=1e-10)
        for one, other in zip(sprinted, direct, strict=True):
            assert float(one.tail(4.0)) == pytest.approx(float(other.tail(4.0)), abs=1e-8)


def test_a_sooner_sprint_helps_every_class() -> None:
    timeouts = [0.0, 0.5, 2.0, 8.0]
    for discipline in Discipline:
        highs, lows = [], []
        for timeout_s in timeouts:
            services = [Sprinted(erlang(2, 2.0), timeout_s, 2.0), erlang(6, 6.0)]
            high, low = response_times([0.3, 0.3], services, discipline)
            highs.append(high.quantile(0.95))
            lows.append(low.mean)
        assert highs == sorted(highs) and lows == sorted(lows)


def test_moments_that_diverge_are_infinite_and_the_distribution_is_there() -> None:
    services = [exponential(10.0), exponential(1.0)]
    low = response_times([0.6, 0.05], services, REPEAT)[1]
    assert low.mean == math.inf and low.moment(2) == math.inf and not math.isfinite(waiting_s(low))
    # Execution: E[(exp(aS) - 1) / a] = 1 / (1 - a) seconds of attempts, each stretched.
    assert execution_s(low) == pytest.approx(1 / 0.4 / (1 - 0.06), rel=1e-12)
    assert 0.9 < float(low.cdf(low.quantile(0.95))) < 1
    assert response_times([0.4, 0.05], services, REPEAT)[1].moment(2) == math.inf
    assert response_times([0.4, 0.05], services, REPEAT)[1].mean < math.inf


def test_a_queue_that_is_none() -> None:
    one = exponential(1.0)
    with pytest.raises(ModelError, match="do not fit"):
        response_times([0.1, 0.2], [one], RESUME)
    with pytest.raises(ModelError, match="do not fit"):
        response_times([], [], RESUME)
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ModelError, match="positive"):
            response_times([0.1, wrong], [one, one], RESUME)
    for discipline in Discipline:
        with pytest.raises(UnstableQueueError, match=r"the load is .*lower the arrival rates"):
            response_times([0.5, 0.5], [one, one], discipline)
    # Below 1 in all, but not with the repetitions; and no end of them.
    with pytest.raises(UnstableQueueError, match="repetitions"):
        response_times([0.5, 0.4], [exponential(2.0), one], REPEAT)
    with pytest.raises(UnstableQueueError, match="the load is inf"):
        response_times([1.0, 0.01], [exponential(10.0), one], REPEAT)
    with pytest.raises(ModelError, match="from the first on"):
        response_times([0.5], [one], RESUME)[0].moment(0)


def test_rates_of_very_different_sizes() -> None:
    services = [exponential(1e3), hyperexponential([0.5, 0.5], [1e-2, 1.0])]
    for discipline in (NON_PREEMPTIVE, RESUME):
        responses = response_times([300.0, 0.005], services, discipline)
        assert means(responses) == pytest.approx(FORMULAS[discipline]([300.0, 0.005], services))
        for each in responses:
            assert float(each.cdf(each.quantile(0.95))) == pytest.approx(0.95, abs=1e-7)
