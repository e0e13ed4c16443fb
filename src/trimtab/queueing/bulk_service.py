"""Poisson arrivals to one server that takes all waiting ones as a batch, up to a largest size.

The numbers of waiting arrivals at the ends of batches are a Markov chain (Bailey, "On Queueing
Processes with Bulk Service", J. R. Stat. Soc. B 16, 1954). The mean over time follows from its
cycles, and the mean response time from Little's law.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from trimtab.queueing.errors import UnstableQueueError

_FIRST_STATES, _MOST_STATES = 64, 2048
_CUT_OFF = 1e-12  # the probability of a longer queue


def mean_response_s(rate: float, services: Sequence[NDArray[np.float64]]) -> float:
    """Return the mean time from an arrival to the end of its batch, in s.

    `rate`: arrivals a second. `services`: for each batch size from 1 to the largest, equally
    probable times in s. Raises UnstableQueueError for an overload, and for a load so close to 1
    that more than 2,048 arrivals wait.
    """
    if rate * float(services[-1].mean()) >= len(services):
        raise UnstableQueueError(f"{rate:g} arrivals a second: more than batches are served")
    states = max(_FIRST_STATES, 2 * len(services))
    while True:
        waiting = _waiting_at_ends(rate, services, states)
        if waiting[-1] < _CUT_OFF:
            break
        if states >= _MOST_STATES:
            raise UnstableQueueError(
                f"more than {_MOST_STATES:,} waiting arrivals: a load close to 1"
            )
        states *= 2
    lasting = present = 0.0
    for number, probability in enumerate(waiting):
        first = max(number, 1)
        times = services[min(first, len(services)) - 1]
        idle_s = 0.0 if number else 1 / rate
        lasting += probability * (idle_s + times.mean())
        present += probability * (first * times.mean() + rate * (times**2).mean() / 2)
    return float(present / lasting / rate)


def _waiting_at_ends(
    rate: float, services: Sequence[NDArray[np.float64]], states: int
) -> NDArray[np.float64]:
    """Return the probabilities of the number waiting when a batch ends; the last is "or more"."""
    largest = len(services)
    counts = np.arange(states)
    arriving = [_poisson(counts[:, None], rate * times[None, :]).mean(axis=1) for times in services]
    matrix = np.zeros((states, states))
    for number in range(states):
        batch = min(max(number, 1), largest)
        left = max(number, 1) - batch
        matrix[number, left:] = arriving[batch - 1][: states - left]
        matrix[number, -1] += 1 - matrix[number].sum()
    equations = matrix.T - np.eye(states)
    equations[-1] = 1
    solution: NDArray[np.float64] = np.linalg.solve(equations, np.eye(states)[-1])
    return solution


def _poisson(counts: NDArray[np.int64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Poisson probabilities, as scipy.stats does, which takes long to import."""
    chances: NDArray[np.float64] = np.exp(xlogy(counts, means) - gammaln(counts + 1.0) - means)
    return chances
