"""Several servers against Erlang's sum, one server, balance equations solved whole, simulation."""

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trimtab.queueing.errors import ModelError, UnstableQueueError
from trimtab.queueing.phase_type import (
    PhaseType,
    erlang,
    exponential,
    fit_two_moments,
    hyperexponential,
)
from trimtab.queueing.poisson_priority import Discipline
from trimtab.queueing.poisson_priority import response_times as of_one_server
from trimtab.queueing.servers.approximations import (
    bondi_buzen_s,
    lee_longton_s,
    pooled,
    wait_bounds_s,
)
from trimtab.queueing.servers.choice import ServiceTime, solve
from trimtab.queueing.servers.erlang_c import mean_wait_s, waiting_probability
from trimtab.queueing.servers.first_come import response_times, waiting_time
from trimtab.queueing.servers.priorities import non_preemptive, preemptive_resume_means_s

SERVICES = [
    exponential(1.0),
    erlang(2, 2.0),
    fit_two_moments(1.0, 0.4),
    fit_two_moments(1.0, 5.0),
    PhaseType(np.array([0.3, 0.7]), np.array([[-4.0, 1.0], [0.5, -0.9]])),
]


def erlang_by_its_sum(offered: Fraction, servers: int) -> Fraction:
    terms = [offered**busy / math.factorial(busy) for busy in range(servers)]
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    return last / (sum(terms) + last)


@pytest.mark.parametrize("servers", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("tenths", [1, 5, 9])
def test_erlang_c_is_its_own_sum(servers: int, tenths: int) -> None:
    offered = Fraction(tenths * servers, 10)
    expected = float(erlang_by_its_sum(offered, servers))
    assert waiting_probability(float(offered), servers) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("servers", [1, 2, 5, 30])
def test_exponential_services_have_the_exponential_wait_of_erlang(servers: int) -> None:
    rate = 0.85 * servers
    (response,) = response_times([rate], [exponential(1.0)], servers)
    waits = waiting_probability(rate, servers)
    assert response.mean == pytest.approx(1 + mean_wait_s(rate, 1.0, servers), rel=1e-10)
    s = np.array([0.1 + 2j, 3.0])
    drained = servers - rate  # a wait, if there is any, is exponential
    expected = 1 - waits + waits * drained / (drained + s)
    found = waiting_time(rate, exponential(1.0), servers).laplace(s)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("load", [0.2, 0.9])
def test_one_server_is_the_queue_of_pollaczek_and_khinchine(
    service: PhaseType, load: float
) -> None:
    rate = load / service.mean
    (found,) = response_times([rate], [service], 1)
    (expected,) = of_one_server([rate], [service], Discipline.NON_PREEMPTIVE)
    assert [found.moment(k) for k in (1, 2)] == pytest.approx(
        [expected.moment(k) for k in (1, 2)], rel=1e-8
    )
    assert found.quantile(0.99) == pytest.approx(expected.quantile(0.99), rel=1e-6)


def by_balance(rate: float, alpha: Sequence[float], matrix: NDArray[np.float64]) -> float:
    """The mean wait on two servers of two phases: all balance equations up to 300 jobs at once."""
    longest, exits = 300, -matrix.sum(axis=1)
    states: dict[tuple[int, int, int], int] = {}  # jobs, and the busy servers in both phases
    for jobs in range(longest + 1):
        for first in range(min(jobs, 2) + 1):
            states[jobs, first, min(jobs, 2) - first] = len(states)
    moves = np.zeros((len(states), len(states)))
    for (jobs, *busy), row in states.items():
        if jobs < longest:
            for phase in (0, 1):
                new = list(busy)
                new[phase] += jobs < 2
                moves[row, states[(jobs + 1, new[0], new[1])]] += rate * alpha[phase]
        for phase in (0, 1):
            there = busy[phase]
            if there:
                new = list(busy)
                new[phase], new[1 - phase] = new[phase] - 1, new[1 - phase] + 1
                moves[row, states[(jobs, new[0], new[1])]] += there * matrix[phase, 1 - phase]
                for after in (0, 1):
                    new = list(busy)
                    new[phase] -= 1
                    new[after] += jobs > 2
                    column = states[(jobs - 1, new[0], new[1])]
                    share = alpha[after] if jobs > 2 else 0.5
                    moves[row, column] += there * exits[phase] * share
    moves -= np.diag(moves.sum(axis=1))
    moves[:, -1] = 1
    shares = np.linalg.solve(moves.T, np.eye(len(states))[-1])
    waiting = sum(max(jobs - 2, 0) * shares[row] for (jobs, *_), row in states.items())
    return float(waiting) / rate


@pytest.mark.parametrize("number", [1, 3, 4])
def test_two_servers_have_the_wait_of_all_balance_equations(number: int) -> None:
    service = SERVICES[number]
    rate = 1.5 / service.mean
    (found,) = response_times([rate], [service], 2)
    expected = by_balance(rate, service.alpha.tolist(), service.matrix)
    assert found.mean - service.mean == pytest.approx(expected, rel=1e-7)


def test_classes_share_one_wait_and_keep_their_own_service() -> None:
    services = [exponential(2.0), hyperexponential([0.3, 0.7], [0.4, 2.0]), exponential(2.0)]
    found = response_times([0.5, 0.6, 0.4], services, 3)
    waits = [each.mean - service.mean for each, service in zip(found, services, strict=True)]
    assert waits == pytest.approx([waits[0]] * 3)
    # Two classes of one distribution are one.
    merged = response_times([0.9, 0.6], services[:2], 3)
    assert merged[1].mean == pytest.approx(found[1].mean, rel=1e-10)


def simulated_waits(rate: float, service: PhaseType, servers: int, seed: int) -> float:
    rng, jobs = np.random.default_rng(seed), 200_000
    arrivals = rng.exponential(1 / rate, jobs).cumsum()
    free, total = [0.0] * servers, 0.0
    for at, needed in zip(arrivals.tolist(), service.sample(rng, jobs).tolist(), strict=True):
        start = max(at, heapq.heappop(free))
        heapq.heappush(free, start + needed)
        total += start - at
    return total / jobs


@pytest.mark.parametrize(("number", "servers"), [(2, 3), (3, 4), (4, 5)])
def test_waits_are_those_of_a_simulation(number: int, servers: int) -> None:
    service = SERVICES[number]
    rate = 0.7 * servers / service.mean
    runs = np.array([simulated_waits(rate, service, servers, seed) for seed in range(8)])
    half = 3.5 * runs.std(ddof=1) / math.sqrt(len(runs))  # Student's t at 99 %
    (found,) = response_times([rate], [service], servers)
    assert abs(found.mean - service.mean - runs.mean()) < half
    assert half < 0.1 * runs.mean()


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 0.97), st.integers(1, 6), st.sampled_from(SERVICES), st.floats(0.1, 10.0))
def test_bounds_hold_and_time_has_no_unit(
    load: float, servers: int, service: PhaseType, unit: float
) -> None:
    rate = load * servers / service.mean
    (found,) = response_times([rate], [service], servers)
    wait_s = found.mean - service.mean
    low_s, high_s = wait_bounds_s(rate, service.mean, service.scv, servers)
    assert low_s * (1 - 1e-6) - 1e-9 <= wait_s <= high_s
    if servers == 1:
        assert wait_s == pytest.approx(lee_longton_s(rate, service.mean, service.scv, 1), abs=1e-8)
        assert wait_s == pytest.approx(low_s, abs=1e-8)
    slow = PhaseType(service.alpha, service.matrix / unit)
    (longer,) = response_times([rate / unit], [slow], servers)
    assert longer.mean == pytest.approx(unit * found.mean, rel=1e-7)


RATES, MEAN_S = [0.5, 0.7, 0.4], 1.1


def test_priorities_share_the_wait_of_all() -> None:
    found = non_preemptive(RATES, MEAN_S, 2)
    waits = waiting_probability(sum(RATES) * MEAN_S, 2)
    loads = [sum(RATES[:k]) * MEAN_S / 2 for k in range(4)]
    expected = [waits * MEAN_S / 2 / ((1 - loads[k]) * (1 - loads[k + 1])) for k in range(3)]
    assert [each.mean - MEAN_S for each in found] == pytest.approx(expected, rel=1e-10)
    means_s = [each.mean - MEAN_S for each in found]
    mean_s = np.dot(RATES, means_s) / sum(RATES)
    assert mean_s == pytest.approx(mean_wait_s(sum(RATES), MEAN_S, 2), rel=1e-10)
    for each in found:
        assert each.cdf(each.quantile(0.9)) == pytest.approx(0.9, abs=1e-7)


def test_one_server_of_priorities_is_the_known_one() -> None:
    service = exponential(2.0)
    expected = of_one_server(RATES, [service] * 3, Discipline.NON_PREEMPTIVE)
    found = non_preemptive(RATES, 0.5, 1)
    for known, ours in zip(expected, found, strict=True):
        assert ours.mean == pytest.approx(known.mean, rel=1e-10)
        assert ours.quantile(0.95) == pytest.approx(known.quantile(0.95), rel=1e-6)
    resumed = of_one_server(RATES, [service] * 3, Discipline.PREEMPTIVE_RESUME)
    means_s = preemptive_resume_means_s(RATES, 0.5, 1)
    assert means_s == pytest.approx([each.mean for each in resumed], rel=1e-9)


@pytest.mark.parametrize("discipline", [Discipline.NON_PREEMPTIVE, Discipline.PREEMPTIVE_RESUME])
def test_the_approximation_of_priorities_is_exact_for_one_server(discipline: Discipline) -> None:
    services = [erlang(3, 9.0), fit_two_moments(0.6, 3.0), exponential(2.0)]
    means_s, scvs = [each.mean for each in services], [each.scv for each in services]
    waits_s = bondi_buzen_s(RATES, means_s, scvs, 1, discipline)
    known = of_one_server(RATES, services, discipline)
    expected = [each.mean - mean_s for each, mean_s in zip(known, means_s, strict=True)]
    assert waits_s == pytest.approx(expected, rel=1e-9)


def test_the_most_precise_formula_is_taken() -> None:
    def service(phases: PhaseType) -> ServiceTime:
        return ServiceTime(phases.mean, phases.scv, phases)

    one, other = service(exponential(1.0)), service(exponential(3.0))
    long, fixed = service(erlang(40, 40.0)), ServiceTime(1.0, 0.0, None)
    rates, np_, pr = [0.5, 0.6], Discipline.NON_PREEMPTIVE, Discipline.PREEMPTIVE_RESUME
    assert solve(rates, [one, other], 2, None).model == "exact: M/PH/c"
    assert solve(rates, [one, one], 2, np_).model.startswith("exact: M/M/c")
    assert solve(rates, [one, one], 2, pr).model.startswith("exact means: M/M/c")
    assert solve([0.1, 0.2], [one, long], 1, Discipline.PREEMPTIVE_REPEAT).distributions
    for services, discipline in (([one, other], np_), ([one, other], pr), ([one, fixed], np_)):
        about = solve(rates, services, 2, discipline)
        assert about.model.startswith("approximation of Bondi") and about.distributions is None
    for services in ([long, one], [one, fixed]):
        about = solve(rates, services, 3, None)
        assert about.model.startswith("approximation of Lee") and about.bounds_s
        for mean_s, (low_s, high_s) in zip(about.means_s, about.bounds_s, strict=True):
            assert low_s <= mean_s <= high_s
    with pytest.raises(ModelError, match="no formula for preemptive-repeat on 2 servers"):
        solve(rates, [one, one], 2, Discipline.PREEMPTIVE_REPEAT)


def test_pooled_moments_are_those_of_the_mixture() -> None:
    first, second = erlang(3, 4.0), fit_two_moments(2.0, 4.0)
    rate, mean_s, scv = pooled([1.0, 3.0], [first.mean, second.mean], [first.scv, second.scv])
    squares = (first.moment(2) + 3 * second.moment(2)) / 4
    assert (rate, mean_s) == pytest.approx((4.0, (first.mean + 3 * second.mean) / 4))
    assert scv == pytest.approx(squares / mean_s**2 - 1)


@pytest.mark.parametrize("servers", [1, 3])
def test_a_queue_that_grows_is_refused(servers: int) -> None:
    for calculate in (
        lambda: response_times([servers], [exponential(1.0)], servers),
        lambda: non_preemptive([servers / 2] * 2, 1.0, servers),
        lambda: preemptive_resume_means_s([servers / 2] * 2, 1.0, servers),
        lambda: wait_bounds_s(servers, 1.0, 1.0, servers),
    ):
        with pytest.raises(UnstableQueueError, match="the load is 1"):
            calculate()
    with pytest.raises(ModelError, match="one server or more"):
        waiting_probability(0.5, 0)
    with pytest.raises(ModelError, match="expected at most 500"):
        waiting_time(0.1, erlang(50, 50.0), 3)
