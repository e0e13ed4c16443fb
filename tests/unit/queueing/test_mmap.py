import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trimtab.queueing.errors import ModelError
from trimtab.queueing.mmap import (
    MarkedArrivals,
    bursty,
    modulated,
    poisson,
    stationary_vector,
    superpose,
)
from trimtab.traces.markovian import marked_arrivals

D0 = [[-3.0, 0.5], [0.2, -0.6]]
D1 = [[0.9, 0.1], [0.0, 0.1]]
D2 = [[1.0, 0.5], [0.1, 0.2]]


def autocorrelation(arrivals: MarkedArrivals, lags: int) -> NDArray[np.float64]:
    """Return how the times between arrivals, whatever their class, correlate, (lags,)."""
    means = np.linalg.inv(-arrivals.hidden)
    jumps = means @ arrivals.marked.sum(axis=0)
    start = stationary_vector(jumps - np.eye(arrivals.phases))
    mean = (start @ means).sum()
    variance = 2 * (start @ means @ means).sum() - mean**2
    powers = [np.linalg.matrix_power(jumps, lag) for lag in range(1, lags + 1)]
    joint = [(start @ means @ power @ means).sum() for power in powers]
    return np.asarray((np.array(joint) - mean**2) / variance)


def test_rates_follow_from_the_stationary_phases() -> None:
    arrivals = MarkedArrivals(D0, [D1, D2])
    # Phase 0 is left at rate 0.5 + 0.1 + 0.5, phase 1 at 0.2 + 0.1.
    np.testing.assert_allclose(arrivals.stationary, [0.3 / 1.4, 1.1 / 1.4])
    np.testing.assert_allclose(arrivals.rates, [0.3 / 1.4 + 0.11 / 1.4, 0.45 / 1.4 + 0.33 / 1.4])
    assert (arrivals.phases, arrivals.classes) == (2, 2)


def test_poisson_arrivals_have_one_phase_and_no_memory() -> None:
    arrivals = poisson([2.0, 3.0])
    np.testing.assert_allclose(arrivals.rates, [2.0, 3.0])
    np.testing.assert_allclose(arrivals.hidden, [[-5.0]])
    np.testing.assert_allclose(autocorrelation(arrivals, 3), 0, atol=1e-14)


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=4),
    st.floats(0.01, 100),
    st.floats(0.01, 1e3),
    st.floats(0.01, 1e3),
)
@settings(max_examples=50)
def test_bursts_keep_the_rates_in_the_long_run(
    rates: list[float], factor: float, burst_s: float, calm_s: float
) -> None:
    arrivals = bursty(rates, factor, burst_s, calm_s)
    np.testing.assert_allclose(arrivals.rates, rates)
    np.testing.assert_allclose(arrivals.stationary[1], burst_s / (burst_s + calm_s))
    by_phase = arrivals.marked.diagonal(axis1=1, axis2=2)
    np.testing.assert_allclose(by_phase[:, 1], factor * by_phase[:, 0])


def test_autocorrelation_of_two_phases_decays_by_their_second_eigenvalue() -> None:
    arrivals = bursty([1.0], 20, 5, 50)
    correlation = autocorrelation(arrivals, 4)
    jumps = np.linalg.inv(-arrivals.hidden) @ arrivals.marked[0]
    assert 0 < correlation[0] < 1
    np.testing.assert_allclose(correlation[1:] / correlation[:-1], np.trace(jumps) - 1)


def test_times_between_erlang_arrivals_do_not_correlate() -> None:
    arrivals = MarkedArrivals([[-2.0, 2.0], [0.0, -2.0]], [[[0.0, 0.0], [2.0, 0.0]]])
    np.testing.assert_allclose(autocorrelation(arrivals, 5), 0, atol=1e-14)


def test_superposition_adds_rates_and_keeps_the_classes_apart() -> None:
    first, second = MarkedArrivals(D0, [D1, D2]), bursty([0.7], 9, 1, 4)
    both = superpose(first, second, poisson([5.0]))
    assert (both.phases, both.classes) == (4, 4)
    np.testing.assert_allclose(both.rates, [*first.rates, 0.7, 5.0])
    np.testing.assert_allclose(both.stationary, np.kron(first.stationary, second.stationary))
    np.testing.assert_allclose(superpose(poisson([1.0]), poisson([2.0])).hidden, [[-3.0]])


def test_scaling_changes_the_clock_alone() -> None:
    arrivals = MarkedArrivals(D0, [D1, D2])
    np.testing.assert_allclose(arrivals.scaled(3).rates, 3 * arrivals.rates)
    np.testing.assert_allclose(autocorrelation(arrivals.scaled(3), 3), autocorrelation(arrivals, 3))


def test_samples_have_the_rates_and_the_correlation_of_the_process() -> None:
    arrivals = superpose(bursty([1.0], 8, 5, 20), MarkedArrivals(D0, [D1, D2]))
    jobs = 1_000_000
    rng = np.random.default_rng(1)
    arrival_s, job_class = next(marked_arrivals(arrivals.hidden, arrivals.marked, rng, jobs))
    assert arrival_s.shape == job_class.shape == (jobs,)
    assert arrival_s[0] > 0
    gaps = np.diff(arrival_s)
    assert gaps.min() >= 0
    counts = np.bincount(job_class, minlength=3)
    np.testing.assert_allclose(counts / arrival_s[-1], arrivals.rates, rtol=0.02)
    sampled = [np.corrcoef(gaps[:-lag], gaps[lag:])[0, 1] for lag in (1, 2, 3)]
    np.testing.assert_allclose(sampled, autocorrelation(arrivals, 3), atol=0.01)


def test_a_phase_that_moves_only_with_an_arrival_is_walked_in_turn() -> None:
    turns = MarkedArrivals(-np.eye(2), [[[0, 1], [0, 0]], [[0, 0], [1, 0]]])
    rng = np.random.default_rng(3)
    _, job_class = next(marked_arrivals(turns.hidden, turns.marked, rng, 50))
    assert (np.diff(job_class) != 0).all()


@pytest.mark.parametrize(
    ("hidden", "marked", "message"),
    [
        ([[-1.0, 1.0]], [[[1.0]]], "square"),
        ([], [], "square"),
        ([[-1.0]], [], "at least one"),
        ([[-1.0]], [[1.0]], "have the shape of D0"),
        ([[-1.0]], [[[1.0, 0.0], [0.0, 1.0]]], "have the shape of D0"),
        ([[-2.0]], [[[1.0]], [[1.0, 0.0]]], "all have the shape of D0"),
        ([[-np.inf]], [[[np.inf]]], "finite"),
        ([[np.nan]], [[[1.0]]], "finite"),
        ([[0.0]], [[[1.0]], [[-1.0]]], "D2 has a negative rate"),
        ([[-1.0]], [[[1.0]], [[0.0]]], "class 2 never arrives"),
        ([[-0.5, -0.5], [1.0, -2.0]], [[[1.0, 0.0], [0.0, 1.0]]], "outside its diagonal"),
        ([[-2.0]], [[[1.0]]], "row 0 sums to -1"),
        ([[-1.0, 0.0], [0.0, -1.0]], [[[1.0, 0.0], [0.0, 1.0]]], "2 sets"),
        ([[-2.0, 1.0], [0.0, -1.0]], [[[1.0, 0.0], [0.0, 1.0]]], "left for good"),
    ],
)
def test_what_is_no_process_is_refused(hidden: object, marked: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        MarkedArrivals(hidden, marked)  # type: ignore[arg-type]


def test_constructors_refuse_what_makes_no_process() -> None:
    with pytest.raises(ModelError, match="class 2 never arrives"):
        poisson([1.0, 0.0])
    with pytest.raises(ModelError, match="negative rate"):
        poisson([2.0, -1.0])
    with pytest.raises(ModelError, match="by class and phase"):
        modulated([1.0, 2.0], [[-1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ModelError, match="positive lengths"):
        bursty([1.0], 5, 0, 1)
    with pytest.raises(ModelError, match="nothing to superpose"):
        superpose()
    with pytest.raises(ModelError, match="positive factor"):
        poisson([1.0]).scaled(0)


def test_what_is_given_stays_as_it_is() -> None:
    hidden = np.array(D0)
    arrivals = MarkedArrivals(hidden, np.array([D1, D2]))
    hidden[0, 0] = 99
    assert arrivals.hidden[0, 0] == -3.0
