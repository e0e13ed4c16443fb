from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from simulated_priority import simulated_responses

from trimtab.queueing.errors import ModelError, UnstableQueueError
from trimtab.queueing.mmap import MarkedArrivals, bursty, modulated, poisson, superpose
from trimtab.queueing.mmap_priority import priority_queue
from trimtab.queueing.phase_type import (
    PhaseType,
    erlang,
    exponential,
    fit_two_moments,
    hyperexponential,
)
from trimtab.queueing.poisson_priority import Discipline, response_times

NON_PREEMPTIVE, RESUME, REPEAT, _ = Discipline
DISCIPLINES = {False: NON_PREEMPTIVE, True: RESUME}


def ph(alpha: list[float], matrix: list[list[float]]) -> PhaseType:
    return PhaseType(np.array(alpha), np.array(matrix))


def means(arrivals: MarkedArrivals, services: list[PhaseType], preemptive: bool) -> list[float]:
    return [each.mean for each in priority_queue(arrivals, services, DISCIPLINES[preemptive])]


def at_load(load: float, arrivals: MarkedArrivals, services: list[PhaseType]) -> MarkedArrivals:
    now = sum(r * s.mean for r, s in zip(arrivals.rates, services, strict=True))
    return arrivals.scaled(load / now)


# Systems, and the first three moments of each class that MMAPPH1NPPR of line-solver 3.0.8 (a port
# of BuTools) gave: MMAPPH1NPPR([D0, DK, ..., D1], alphas, matrices, "stMoms", 3), whose classes
# come in the opposite order. Its MMAPPH1PRPR, for the preemptive queue, gave the others once the
# vector of its phase counts was made one of integers; as it is, it does not run.
RECORDED = [
    (
        MarkedArrivals(
            [[-3.0, 0.5], [0.2, -0.6]], [[[0.9, 0.1], [0, 0.1]], [[1.0, 0.5], [0.1, 0.2]]]
        ).scaled(1.4),
        [ph([0.3, 0.7], [[-4.0, 1], [0, -2.0]]), ph([1, 0.0], [[-3.0, 2.0], [1.0, -2.5]])],
        [
            [1.33043337646965, 2.83940428484386, 8.24180809389337],
            [7.38088603574159, 112.272969810437, 2573.61806599238],
        ],
        [
            [0.671671808219691, 0.939434927305521, 2.00873195355394],
            [7.58653000461559, 115.875921923037, 2657.51289396749],
        ],
    ),
    (
        MarkedArrivals(
            [[-2.5, 0.3, 0], [0, -1.0, 0.4], [0.1, 0, -0.3]],
            [
                [[0.2, 0, 0.3], [0.1, 0.1, 0], [0, 0.05, 0]],
                [[0.5, 0.2, 0], [0, 0.2, 0], [0.02, 0, 0.03]],
                [[1.0, 0, 0], [0.1, 0, 0.1], [0, 0, 0.1]],
            ],
        ).scaled(2.5),
        [
            exponential(2.0),
            ph([1, 0, 0.0], [[-6.0, 6, 0], [0, -6, 6], [0, 0, -6.0]]),
            ph([0.9, 0.1], [[-3.0, 0], [0, -0.3]]),
        ],
        [
            [1.67404059015735, 7.82747183481983, 70.6548399223059],
            [2.78013602958343, 18.7736412910628, 218.97797485688],
            [11.0158509941833, 311.484292050018, 13694.0512243864],
        ],
        [
            [0.6564399667037, 0.862866503487494, 1.70256599243624],
            [1.37232991418027, 3.64339883923699, 15.2831010215337],
            [11.4512899139964, 325.118633157418, 14312.136106957],
        ],
    ),
    (
        MarkedArrivals(
            [[-8.0, 0.1], [0.02, -0.22]], [[[2.0, 0], [0, 0.05]], [[5.9, 0.0], [0, 0.15]]]
        ).scaled(2.0),
        [ph([1, 0.0], [[-20.0, 20], [0, -20]]), ph([0.5, 0.5], [[-6.0, 0], [1.0, -3.0]])],
        [
            [0.427102334377463, 0.294453376114187, 0.291406882250147],
            [36.0195137491512, 2639.63066735351, 289301.175263466],
        ],
        [
            [0.142935180374327, 0.0334470842834723, 0.0112154868344942],
            [36.0516112804818, 2641.41898436429, 289489.704329302],
        ],
    ),
]


@pytest.mark.parametrize(("arrivals", "services", "non_preemptive", "preemptive"), RECORDED)
def test_moments_are_those_that_the_fluid_model_gave(
    arrivals: MarkedArrivals,
    services: list[PhaseType],
    non_preemptive: list[list[float]],
    preemptive: list[list[float]],
) -> None:
    for recorded, queue in (
        (non_preemptive, priority_queue(arrivals, services, NON_PREEMPTIVE)),
        (preemptive, priority_queue(arrivals, services, RESUME)),
    ):
        ours = [[each.moment(k) for k in (1, 2, 3)] for each in queue]
        np.testing.assert_allclose(ours, recorded, rtol=1e-11)


POISSON_SERVICES = [
    [exponential(1.0), exponential(1.0), exponential(1.0)],
    [erlang(4, 4.0), hyperexponential([0.4, 0.6], [2.0, 0.5]), fit_two_moments(1.3, 0.3)],
    [erlang(60, 60.0), exponential(0.5), erlang(10, 40.0)],
]


@pytest.mark.parametrize("services", POISSON_SERVICES)
@pytest.mark.parametrize("load", [0.05, 0.6, 0.95])
def test_poisson_means_are_cobhams_and_their_preemptive_kin(
    services: list[PhaseType], load: float
) -> None:
    arrivals = at_load(load, poisson([0.3, 0.5, 0.2]), services)
    loads = arrivals.rates * [each.mean for each in services]
    residual = arrivals.rates * [each.moment(2) / 2 for each in services]
    below = 1 - np.concatenate([[0], loads.cumsum()])
    service = np.array([each.mean for each in services])
    cobham = residual.sum() / (below[:-1] * below[1:]) + service
    resume = residual.cumsum() / (below[:-1] * below[1:]) + service / below[:-1]
    np.testing.assert_allclose(means(arrivals, services, False), cobham, rtol=1e-10)
    np.testing.assert_allclose(means(arrivals, services, True), resume, rtol=1e-10)


def exact_tails(t: float, first: float, second: float, preemptive: bool) -> list[float]:
    """P(X > t) of two classes of M/M/1, service rate 1, to 15 digits: the fixed Talbot method.

    The busy period's transform is the root of a quadratic equation here.
    """

    def delayed(s: mpmath.mpc) -> mpmath.mpc:
        # Two roots, since the principal one of their product has its cut elsewhere.
        edge = 2 * mpmath.sqrt(first)
        root = mpmath.sqrt(s + first + 1 - edge) * mpmath.sqrt(s + first + 1 + edge)
        return s + first - (s + first + 1 - root) / 2

    def waiting(z: mpmath.mpc) -> mpmath.mpc:
        return (1 - first - second) * (z + 1) / (z + 1 - first - second)

    def important(s: mpmath.mpc) -> mpmath.mpc:
        if preemptive:
            return (1 - first) / (s + 1 - first)
        return ((1 - first - second) * (s + 1) + second) / (s + 1 - first) / (1 + s)

    def unimportant(s: mpmath.mpc) -> mpmath.mpc:
        z = delayed(s)
        return waiting(z) / (1 + (z if preemptive else s))

    with mpmath.workdps(30):
        return [
            float(mpmath.invertlaplace(lambda s, f=f: (1 - f(s)) / s, t, method="talbot"))
            for f in (important, unimportant)
        ]


@pytest.mark.parametrize("preemptive", [False, True])
@pytest.mark.parametrize(("first", "second"), [(0.3, 0.4), (0.05, 0.1), (0.6, 0.3)])
def test_distributions_of_exponential_services_are_exact(
    first: float, second: float, preemptive: bool
) -> None:
    queue = priority_queue(
        poisson([first, second]), [exponential(1.0)] * 2, DISCIPLINES[preemptive]
    )
    for t in (0.1, 1.0, 4.0, 20.0):
        exact = exact_tails(t, first, second, preemptive)
        ours = [float(each.tail(t)) for each in queue]
        np.testing.assert_allclose(ours, exact, atol=1e-9)


def test_phases_that_all_behave_alike_are_one_phase() -> None:
    services = [erlang(3, 4.0), exponential(2.0)]
    phases = modulated([[0.6, 0.6, 0.6], [0.5, 0.5, 0.5]], [[-2, 1, 1], [0.5, -1, 0.5], [1, 0, -1]])
    for preemptive in (False, True):
        alike = priority_queue(phases, services, DISCIPLINES[preemptive])
        single = priority_queue(poisson([0.6, 0.5]), services, DISCIPLINES[preemptive])
        for one, other in zip(alike, single, strict=True):
            assert one.moment(3) == pytest.approx(other.moment(3), rel=1e-9)
            np.testing.assert_allclose(one.tail([0.5, 3.0]), other.tail([0.5, 3.0]), atol=1e-9)


def test_erlang_arrivals_wait_as_in_gi_m_1() -> None:
    arrivals = MarkedArrivals([[-1.6, 1.6], [0.0, -1.6]], [[[0.0, 0.0], [1.6, 0.0]]])
    # The root of sigma = E[exp(-(1 - sigma) A)], A being the time between arrivals.
    sigma = brentq(lambda x: (1.6 / (2.6 - x)) ** 2 - x, 0, 0.999, xtol=1e-15)
    times = np.array([0.1, 1.0, 5.0, 20.0])
    for preemptive in (False, True):
        (response,) = priority_queue(arrivals, [exponential(1.0)], DISCIPLINES[preemptive])
        assert response.mean == pytest.approx(1 / (1 - sigma), rel=1e-10)
        np.testing.assert_allclose(response.tail(times), np.exp(-(1 - sigma) * times), atol=1e-9)
        assert response.quantile(0.95) == pytest.approx(np.log(20) / (1 - sigma), rel=1e-7)


def matrix_geometric_mean(arrivals: MarkedArrivals, service: PhaseType) -> float:
    """The mean response time of MAP/PH/1 by Little's law from its quasi-birth-death process."""
    phases, alpha = service.phases, service.alpha
    up = np.kron(arrivals.marked[0], np.eye(phases))
    down = np.kron(np.eye(arrivals.phases), np.outer(service.exit_rates, alpha))
    local = np.kron(arrivals.hidden, np.eye(phases)) + np.kron(
        np.eye(arrivals.phases), service.matrix
    )
    rate = np.zeros_like(local)
    for _ in range(20_000):
        before, rate = rate, -(up + rate @ rate @ down) @ np.linalg.inv(local)
        if np.abs(rate - before).max() < 1e-16:
            break
    # Balance of the empty queue and of one job; the numbers of jobs are geometric beyond.
    empty = arrivals.phases
    balance = np.zeros((empty + len(local),) * 2)
    balance[:empty, :empty] = arrivals.hidden
    balance[:empty, empty:] = np.kron(arrivals.marked[0], alpha[None])
    balance[empty:, :empty] = np.kron(np.eye(arrivals.phases), service.exit_rates[:, None])
    balance[empty:, empty:] = local + rate @ down
    inverse = np.linalg.inv(np.eye(len(local)) - rate)
    balance[:, 0] = np.concatenate([np.ones(empty), inverse.sum(axis=1)])
    start = np.linalg.solve(balance.T, np.eye(len(balance))[0])
    return float((start[empty:] @ inverse @ inverse).sum() / arrivals.rates[0])


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
@pytest.mark.parametrize("service", [exponential(1.0), erlang(5, 3.0), fit_two_moments(2.0, 6.0)])
def test_one_class_is_a_quasi_birth_death_process(load: float, service: PhaseType) -> None:
    first = MarkedArrivals([[-3.0, 1.0], [0.5, -1.0]], [[[1.0, 1.0], [0.2, 0.3]]])
    for arrivals in (first, bursty([1.0], 6, 3, 9)):
        arrivals = at_load(load, arrivals, [service])
        expected = matrix_geometric_mean(arrivals, service)
        for preemptive in (False, True):
            assert means(arrivals, [service], preemptive) == [pytest.approx(expected, rel=1e-9)]


SIMULATED = [
    (bursty([0.4, 0.6], 6, 4, 8), [erlang(3, 3.0), fit_two_moments(0.8, 2.0)], 0.7),
    (RECORDED[1][0], RECORDED[1][1], 0.6),
    (
        superpose(bursty([1.0], 5, 2, 5), bursty([0.5], 9, 1, 6)),
        [exponential(1.0), erlang(20, 10.0)],
        0.5,
    ),
]


@pytest.mark.parametrize(("arrivals", "services", "load"), SIMULATED)
@pytest.mark.parametrize("preemptive", [False, True])
def test_simulated_responses_have_these_means_and_percentiles(
    arrivals: MarkedArrivals, services: list[PhaseType], load: float, preemptive: bool
) -> None:
    arrivals = at_load(load, arrivals, services)
    queue = priority_queue(arrivals, services, DISCIPLINES[preemptive])
    simulated = simulated_responses(arrivals, services, preemptive, jobs=200_000, seed=11)
    for response, times in zip(queue, simulated, strict=True):
        batches = np.array_split(times, 30)
        mean, percentile = response.mean, response.quantile(0.95)
        for expected, each in (
            (mean, [batch.mean() for batch in batches]),
            (0.05, [(batch > percentile).mean() for batch in batches]),
            (float(response.tail(mean)), [(b > mean).mean() for b in batches]),
        ):
            # Student's t with 29 degrees of freedom exceeds 4 once in 2,500 seeds.
            assert abs(np.mean(each) - expected) < 4 * np.std(each, ddof=1) / np.sqrt(30)


@st.composite
def queues(draw: st.DrawFn) -> tuple[MarkedArrivals, list[PhaseType]]:
    """A queue of up to three classes and phases at a load from 0.05 to 0.95."""
    classes, phases = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    marked = rng.exponential(size=(classes, phases, phases)) * rng.choice([0.01, 1, 9], phases)
    hidden = rng.exponential(size=(phases, phases))
    np.fill_diagonal(hidden, 0.0)
    hidden -= np.diag(hidden.sum(axis=1) + marked.sum(axis=(0, 2)))
    services = [
        fit_two_moments(draw(st.floats(0.1, 10)), draw(st.floats(0.05, 8))) for _ in range(classes)
    ]
    load = draw(st.floats(0.05, 0.95))
    return at_load(load, MarkedArrivals(hidden, marked), services), services


@given(queues(), st.booleans())
@settings(max_examples=12)
def test_distributions_rise_and_are_those_of_the_moments(
    system: tuple[MarkedArrivals, list[PhaseType]], preemptive: bool
) -> None:
    arrivals, services = system
    for k, response in enumerate(priority_queue(arrivals, services, DISCIPLINES[preemptive])):
        times = np.linspace(0, 12 * response.mean, 25)
        cdf = response.cdf(times)
        assert cdf[0] == 0
        assert (np.diff(cdf) > -1e-8).all()
        # Markov's inequality, and a job is never faster than its service alone.
        tail = response.tail(times[1:])
        assert (tail <= response.mean / times[1:] + 1e-8).all()
        assert (cdf <= services[k].cdf(times) + 1e-8).all()
        assert response.moment(2) >= response.mean**2


@given(
    st.lists(st.tuples(st.floats(0.05, 2), st.floats(0.1, 5), st.floats(0.1, 5)), min_size=2,
             max_size=4),
    st.floats(0.1, 0.9),
    st.randoms(use_true_random=False),
)  # fmt: skip
@settings(max_examples=8)
def test_the_order_of_classes_moves_waiting_but_makes_none(
    classes: list[tuple[float, float, float]], load: float, random: object
) -> None:
    # Kleinrock's conservation law: the sum of load times mean waiting is that of every order.
    total = sum(rate * mean for rate, mean, _ in classes)
    rates = [rate * load / total for rate, _, _ in classes]
    services = [fit_two_moments(mean, scv) for _, mean, scv in classes]

    def conserved(order: list[int]) -> float:
        rate, service = [rates[i] for i in order], [services[i] for i in order]
        waiting = np.array(means(poisson(rate), service, False)) - [s.mean for s in service]
        return float(sum(r * s.mean * w for r, s, w in zip(rate, service, waiting, strict=True)))

    order = list(range(len(classes)))
    shuffled = order.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    residual = sum(r * s.moment(2) / 2 for r, s in zip(rates, services, strict=True))
    assert conserved(order) == pytest.approx(load * residual / (1 - load), rel=1e-9)
    assert conserved(shuffled) == pytest.approx(conserved(order), rel=1e-9)


@given(queues())
@settings(max_examples=12)
def test_the_more_important_of_equal_classes_is_the_faster_one(
    system: tuple[MarkedArrivals, list[PhaseType]],
) -> None:
    arrivals, services = system
    # The same process for every class, so that they differ in importance alone.
    alike = arrivals.marked.sum(axis=0) / arrivals.classes
    equal = MarkedArrivals(arrivals.hidden, np.array([alike] * arrivals.classes))
    equal = at_load(0.8, equal, services[:1] * arrivals.classes)
    for preemptive in (False, True):
        responses = priority_queue(equal, services[:1] * arrivals.classes, DISCIPLINES[preemptive])
        times = responses[0].mean * np.array([0.2, 1.0, 3.0])
        for better, worse in pairwise(responses):
            assert better.mean < worse.mean
            assert (better.tail(times) < worse.tail(times) + 1e-8).all()


def test_the_most_important_class_does_not_see_the_others_when_it_preempts() -> None:
    services = [erlang(2, 3.0), exponential(1.0)]
    arrivals = RECORDED[0][0].scaled(0.4)
    alone = MarkedArrivals(arrivals.hidden + arrivals.marked[1], arrivals.marked[:1])
    (single,) = priority_queue(alone, services[:1], NON_PREEMPTIVE)
    first, _ = priority_queue(arrivals, services, RESUME)
    assert first.moment(3) == pytest.approx(single.moment(3), rel=1e-10)


def cyclic(last: float) -> MarkedArrivals:
    """Three phases in turn, of which the last brings either class; Jordan blocks for last = 4."""
    hidden = [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, -last]]
    jumps = np.zeros((2, 3, 3))
    jumps[:, 2, 0] = last / 2
    return MarkedArrivals(hidden, jumps)


def test_a_generator_without_enough_eigenvectors_is_no_obstacle() -> None:
    services = [exponential(2.0), exponential(2.0)]
    for preemptive in (False, True):
        below, at, above = (
            priority_queue(cyclic(last), services, DISCIPLINES[preemptive])
            for last in (3.999, 4.0, 4.001)
        )
        for left, middle, right in zip(below, at, above, strict=True):
            assert middle.mean == pytest.approx((left.mean + right.mean) / 2, rel=1e-6)
            assert middle.quantile(0.9) == pytest.approx(
                (left.quantile(0.9) + right.quantile(0.9)) / 2, rel=1e-5
            )


def test_too_much_work_is_refused_with_the_load() -> None:
    services = [exponential(1.0), exponential(1.0)]
    with pytest.raises(UnstableQueueError, match=r"the load is 1\.2 \(by class: 0\.5, 0\.7\)"):
        priority_queue(poisson([0.5, 0.7]), services, RESUME)
    with pytest.raises(UnstableQueueError, match="the load is 1 "):
        priority_queue(poisson([0.5, 0.5]), services, NON_PREEMPTIVE)


def test_every_class_needs_a_service_time() -> None:
    with pytest.raises(ModelError, match="1 service times do not fit arrivals of 2 classes"):
        priority_queue(poisson([0.1, 0.1]), [exponential(1.0)], NON_PREEMPTIVE)


def test_a_discipline_is_what_its_name_says() -> None:
    rates, services = [0.3, 0.25], [erlang(60, 60.0), erlang(60, 30.0)]
    for preemptive, discipline in DISCIPLINES.items():
        queue = priority_queue(poisson(rates), services, discipline)
        exact = response_times(rates, services, discipline)
        simulated = simulated_responses(poisson(rates), services, preemptive, jobs=100_000, seed=3)
        for one, by_moments, drawn in zip(queue, exact, simulated, strict=True):
            assert one.mean == pytest.approx(by_moments.mean, rel=1e-6)
            assert one.mean == pytest.approx(float(drawn.mean()), rel=0.05)


@pytest.mark.parametrize("given", [True, False, 0, None, "preemptive"])
def test_what_is_no_discipline_is_refused_by_both(given: Any) -> None:
    expected = r"discipline: .* given, expected one of Discipline\.NON_PREEMPTIVE, .*_REPEAT"
    with pytest.raises(ModelError, match=expected):
        priority_queue(poisson([0.1]), [exponential(1.0)], given)
    with pytest.raises(ModelError, match=expected):
        response_times([0.1], [exponential(1.0)], given)


def test_repeated_work_of_marked_arrivals_has_no_formula() -> None:
    with pytest.raises(ModelError, match="no formula for preemptive-repeat of marked arrivals"):
        priority_queue(poisson([0.1]), [exponential(1.0)], REPEAT)
