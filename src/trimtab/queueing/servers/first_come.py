"""M/PH/c, first come, first served: the exact distribution of waiting and response times.

While all c servers are busy, the number of jobs and the busy servers by phase are a
quasi-birth-death process (Latouche and Ramaswami, Introduction to Matrix Analytic Methods in
Stochastic Modeling, 1999, chapter 8). Nobody overtakes in the queue, so the number of waiting jobs
is the number of Poisson arrivals during a wait (Keilson and Servi, A distributional form of
Little's law, Operations Research Letters 7, 1988). With the phase probabilities p when c jobs are
present, the generator S of the busy servers without arrivals and starts, its exit rates d, and
first passages G to fewer jobs, the wait has the transform

    P(a server is free) + p (s I - S - rate G)^-1 d.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, schur

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_type import PhaseType
from trimtab.queueing.response import ResponseTime
from trimtab.queueing.servers.erlang_c import check_load

MOST_STATES = 500  # of c busy servers; solved in seconds
_MOST_DOUBLINGS = 60

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WaitingTime:
    """The time W, s, until a job starts: 0 with the probability `none`."""

    none: float
    found: NDArray[np.complex128]
    triangle: NDArray[np.complex128]
    exits: NDArray[np.complex128]

    def laplace(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Return E[exp(-sW)] at every s, 1/s, (n,)."""
        solved = np.empty((self.exits.size, s.size), np.complex128)
        for row in range(self.exits.size - 1, -1, -1):
            # As in PhaseType.laplace: a product of this size is slower on many threads.
            rest = np.einsum("k,km->m", self.triangle[row, row + 1 :], solved[row + 1 :])
            solved[row] = (self.exits[row] + rest) / (s - self.triangle[row, row])
        return np.asarray(self.none + self.found @ solved)


def states_of(service: PhaseType, servers: int) -> int:
    """Return how many states `servers` busy servers have."""
    return comb(service.phases + servers - 1, servers)


def mixture(rates: Sequence[float], services: Sequence[PhaseType]) -> PhaseType:
    """Return the service time of any job, if jobs of class k arrive at `rates[k]`, 1/s."""
    weights: dict[tuple[bytes, bytes], float] = {}
    kinds: dict[tuple[bytes, bytes], PhaseType] = {}
    for rate, service in zip(rates, services, strict=True):
        key = service.alpha.tobytes(), service.matrix.tobytes()
        kinds[key] = service
        weights[key] = weights.get(key, 0.0) + rate / sum(rates)
    alpha = np.concatenate([weights[key] * kind.alpha for key, kind in kinds.items()])
    return PhaseType(alpha, block_diag(*(kind.matrix for kind in kinds.values())))


def waiting_time(rate: float, service: PhaseType, servers: int) -> WaitingTime:
    """Return the waiting time of jobs that arrive at `rate`, 1/s, at `servers` equal servers.

    Raises UnstableQueueError for a load of one or more, and ModelError for more than MOST_STATES
    states of busy servers.
    """
    check_load(rate * service.mean, servers)
    if states_of(service, servers) > MOST_STATES:
        raise ModelError(
            f"{servers} servers of {service.phases} phases have {states_of(service, servers):,} "
            f"states, expected at most {MOST_STATES}"
        )
    levels = [_states(service.phases, busy) for busy in range(servers + 1)]
    local = [_moves(service, states) for states in levels]
    ends = [_ends(service, *pair) for pair in itertools.pairwise(levels)]
    starts = [_starts(service, *pair) for pair in itertools.pairwise(levels)]
    identity = np.eye(len(levels[-1]))
    blocked = local[-1] - rate * identity
    passage = _first_passage(rate * identity, blocked, ends[-1] @ starts[-1])
    free, full = _weights(rate, local, ends, starts, blocked + rate * passage)
    waits, exits = local[-1] + rate * passage, -local[-1].sum(axis=1)
    total = free + float(full @ np.linalg.solve(-waits, exits))
    triangle, unitary = schur(waits, output="complex")
    return WaitingTime(free / total, full @ unitary / total, triangle, unitary.conj().T @ exits)


def response_times(
    rates: Sequence[float], services: Sequence[PhaseType], servers: int
) -> list[ResponseTime]:
    """Return the response time of each class, whose jobs arrive at `rates[k]`, 1/s.

    All jobs are served in the order of arrival. Raises as `waiting_time`.
    """
    wait = waiting_time(sum(rates), mixture(rates, services), servers)
    return [_response(wait, service) for service in services]


def _response(wait: WaitingTime, service: PhaseType) -> ResponseTime:
    def laplace(s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        return np.asarray(wait.laplace(s) * service.laplace(s))

    return ResponseTime(laplace, 1 / service.mean)


def _states(phases: int, busy: int) -> dict[tuple[int, ...], int]:
    """Return the numbers of the states of `busy` servers: how many are in each phase."""
    chosen = itertools.combinations_with_replacement(range(phases), busy)
    counts = (tuple(state.count(phase) for phase in range(phases)) for state in chosen)
    return {state: number for number, state in enumerate(counts)}


def _moved(state: tuple[int, ...], *changes: tuple[int, int]) -> tuple[int, ...]:
    new = list(state)
    for phase, change in changes:
        new[phase] += change
    return tuple(new)


def _moves(service: PhaseType, states: dict[tuple[int, ...], int]) -> Matrix:
    """Return the rates of changes of phase; the diagonal has those of ends, too."""
    matrix = np.zeros((len(states), len(states)))
    for state, row in states.items():
        for phase, servers in enumerate(state):
            if servers:
                matrix[row, row] += servers * service.matrix[phase, phase]
                for to in np.flatnonzero(service.matrix[phase] > 0):
                    new = states[_moved(state, (phase, -1), (int(to), 1))]
                    matrix[row, new] += servers * service.matrix[phase, to]
    return matrix


def _ends(
    service: PhaseType, fewer: dict[tuple[int, ...], int], states: dict[tuple[int, ...], int]
) -> Matrix:
    """Return the rates at which services end, from `states` to `fewer`."""
    matrix = np.zeros((len(states), len(fewer)))
    for state, row in states.items():
        for phase, servers in enumerate(state):
            if servers:
                new = fewer[_moved(state, (phase, -1))]
                matrix[row, new] += servers * service.exit_rates[phase]
    return matrix


def _starts(
    service: PhaseType, states: dict[tuple[int, ...], int], more: dict[tuple[int, ...], int]
) -> Matrix:
    """Return the probabilities of states after one more job starts, from `states` to `more`."""
    matrix = np.zeros((len(states), len(more)))
    for state, row in states.items():
        for phase, chance in enumerate(np.maximum(service.alpha, 0)):
            matrix[row, more[_moved(state, (phase, 1))]] += chance
    return matrix


def _first_passage(up: Matrix, local: Matrix, down: Matrix) -> Matrix:
    """Return the phases in which the process first has one job less, by logarithmic reduction."""
    identity = np.eye(len(local))
    high, low = np.linalg.solve(-local, up), np.linalg.solve(-local, down)
    passage, factor = low.copy(), high.copy()
    for _ in range(_MOST_DOUBLINGS):
        both = identity - high @ low - low @ high
        high, low = np.linalg.solve(both, high @ high), np.linalg.solve(both, low @ low)
        more = factor @ low
        passage += more
        factor = factor @ high
        if more.max() < 1e-16:
            break
    return np.asarray(passage)


def _weights(
    rate: float,
    local: Sequence[Matrix],
    ends: Sequence[Matrix],
    starts: Sequence[Matrix],
    watched: Matrix,
) -> tuple[float, NDArray[np.float64]]:
    """Return the weights of a free server, and of each state with c jobs present.

    They are relative to an empty queue. `watched` is the generator of the states with c jobs,
    watched while no more are present.
    """
    ratios: list[Matrix] = []
    for busy in range(len(local) - 1, 0, -1):
        ratios.append(np.asarray(rate * np.linalg.solve(-watched.T, starts[busy - 1].T).T))
        below = local[busy - 1] - rate * np.eye(len(local[busy - 1]))
        watched = below + ratios[-1] @ ends[busy - 1]
    level, free = np.ones(1), 0.0
    for ratio in reversed(ratios):
        free += float(level.sum())
        level = level @ ratio
    return free, level
