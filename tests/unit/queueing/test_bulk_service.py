"""Batches against Pollaczek and Khinchine's formula, and against a simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.queueing.bulk_service import mean_response_s
from trimtab.queueing.errors import UnstableQueueError


def constant(*times_s: float) -> list[np.ndarray]:
    return [np.array([time_s]) for time_s in times_s]


@given(st.floats(0.01, 0.9), st.lists(st.floats(0.01, 5), min_size=1, max_size=4))
def test_batches_of_one_are_a_single_server(load: float, times_s: list[float]) -> None:
    service = np.array(times_s)
    rate = load / service.mean()
    waiting_s = rate * (service**2).mean() / (2 * (1 - load))
    response_s = mean_response_s(rate, [service])
    assert response_s == pytest.approx(service.mean() + waiting_s, rel=1e-6)


def simulated(rate: float, services: list[np.ndarray], arrivals: int) -> float:
    generator = np.random.default_rng(1)
    times = np.cumsum(generator.exponential(1 / rate, arrivals))
    free_s, first, total = 0.0, 0, 0.0
    while first < arrivals:
        begin_s = max(free_s, times[first])
        batch = min(int(np.searchsorted(times, begin_s, side="right")) - first, len(services))
        free_s = begin_s + generator.choice(services[batch - 1])
        total += (free_s - times[first : first + batch]).sum()
        first += batch
    return total / arrivals


@pytest.mark.parametrize("rate", [0.5, 1.5, 2.2])
def test_batches_as_simulated(rate: float) -> None:
    services = [np.array([0.8, 1.2]), np.array([1.0, 1.4]), np.array([1.2])]
    expected = simulated(rate, services, 200_000)
    assert mean_response_s(rate, services) == pytest.approx(expected, rel=0.03)


def test_more_than_can_be_served() -> None:
    with pytest.raises(UnstableQueueError, match="more than batches are served"):
        mean_response_s(2.0, constant(1, 1))
    assert mean_response_s(1.9, constant(1, 1)) > 1
    with pytest.raises(UnstableQueueError, match="close to 1"):
        mean_response_s(1.9999, constant(1, 1))


def test_few_arrivals_wait_for_nobody() -> None:
    assert mean_response_s(1e-6, constant(0.25, 9.0)) == pytest.approx(0.25, rel=1e-4)


@settings(max_examples=30)
@given(st.floats(0.1, 0.95), st.integers(1, 12))
def test_room_for_more_in_a_batch_that_costs_nothing_never_harms(load: float, size: int) -> None:
    smaller = mean_response_s(load, constant(*[1.0] * size))
    assert mean_response_s(load, constant(*[1.0] * (size + 1))) <= smaller * (1 + 1e-9)
