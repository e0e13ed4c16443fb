"""Mean waiting times of several servers that no exact formula covers: M/G/c.

The bounds are for first come, first served. Lower: one server c times as fast never has more work
(Brumelle, Some inequalities for parallel-server queues, Operations Research 19, 1971). Upper: jobs
wait no longer on average than if they were dealt to the servers in turn (Wolff, An upper bound for
multi-channel queues, Journal of Applied Probability 14, 1977), where Kingman's bound holds.
"""

from collections.abc import Sequence

import numpy as np

from trimtab.queueing.errors import ModelError
from trimtab.queueing.poisson_priority import Discipline
from trimtab.queueing.servers.erlang_c import check_load, mean_wait_s


def wait_bounds_s(rate: float, mean_s: float, scv: float, servers: int) -> tuple[float, float]:
    """Return bounds of the mean wait, s, of jobs that arrive at `rate`, 1/s.

    `scv` is the squared coefficient of variation of the service time. Raises as `check_load`.
    """
    check_load(rate * mean_s, servers)
    idle = 1 - rate * mean_s / servers
    low_s = mean_s * (1 + scv) / 2 * (1 / (servers * idle) - 1)
    high_s = rate * (1 / rate**2 + scv * mean_s**2 / servers) / (2 * idle)
    return max(low_s, 0.0), high_s


def lee_longton_s(rate: float, mean_s: float, scv: float, servers: int) -> float:
    """Return about the mean wait, s, first come, first served; arguments and errors as above.

    Lee and Longton, Queueing processes associated with airline passenger check-in, Operational
    Research Quarterly 10, 1959: M/M/c's, times half of 1 + scv. For one server it is exact.
    """
    return (1 + scv) / 2 * mean_wait_s(rate, mean_s, servers)


def bondi_buzen_s(
    rates: Sequence[float],
    means_s: Sequence[float],
    scvs: Sequence[float],
    servers: int,
    discipline: Discipline,
) -> list[float]:
    """Return about the mean wait, s, of each class, the most important first.

    They are those of one server c times as fast, times the ratio of both queues' mean waits first
    come, first served. Bondi and Buzen, The response times of priority classes under preemptive
    resume in M/G/m queues, Performance Evaluation Review 12, 1984. Under PREEMPTIVE_RESUME, waits
    have the interruptions. Raises as `check_load`, and ModelError for other disciplines.
    """
    rate, mean_s, scv = pooled(rates, means_s, scvs)
    check_load(rate * mean_s, servers)
    arriving, times_s = np.array(rates), np.array(means_s) / servers
    residual_s = arriving * times_s**2 * (1 + np.array(scvs)) / 2
    idle = 1 - np.cumsum(arriving * times_s)
    before = np.concatenate([[1.0], idle[:-1]])
    if discipline is Discipline.NON_PREEMPTIVE:
        waits_s = residual_s.sum() / (before * idle)
    elif discipline is Discipline.PREEMPTIVE_RESUME:
        waits_s = residual_s.cumsum() / (before * idle) + times_s * (1 / before - 1)
    else:
        raise ModelError(f"several servers: no approximation for {discipline}")
    first_come_s = residual_s.sum() / idle[-1]
    ratio = lee_longton_s(rate, mean_s, scv, servers) / first_come_s
    return [float(wait_s) * ratio for wait_s in waits_s]


def pooled(
    rates: Sequence[float], means_s: Sequence[float], scvs: Sequence[float]
) -> tuple[float, float, float]:
    """Return rate, 1/s, mean, s, and squared coefficient of variation of all classes' services."""
    parts = np.array(rates) / sum(rates)
    mean_s = float(parts @ means_s)
    second = float(parts @ (np.array(means_s) ** 2 * (1 + np.array(scvs))))
    return float(sum(rates)), mean_s, second / mean_s**2 - 1
