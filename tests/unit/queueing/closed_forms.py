"""Closed formulas of queueing theory: one server, Poisson arrivals.

Classes come in the order of decreasing importance. `services` are anything with `moment(k)`. Every
function raises UnstableQueueError where the load is one or more, or a mean is infinite.
"""

import math
from collections.abc import Sequence

from trimtab.queueing.errors import ModelError, UnstableQueueError
from trimtab.queueing.services import Service


def mm1_mean(arrival_rate: float, service_rate: float) -> float:
    """Return the mean response time of M/M/1, s; rates in 1/s."""
    _check_load([arrival_rate / service_rate])
    return 1 / (service_rate - arrival_rate)


def mm1_quantile(arrival_rate: float, service_rate: float, p: float) -> float:
    """Return the response time that M/M/1 exceeds with probability 1 - p, s."""
    return -math.log1p(-p) * mm1_mean(arrival_rate, service_rate)


def pollaczek_khinchine(arrival_rate: float, service: Service) -> tuple[float, float]:
    """Return the first two moments of the waiting time of M/G/1, first come, first served."""
    load = arrival_rate * service.mean
    _check_load([load])
    mean = arrival_rate * service.moment(2) / (2 * (1 - load))
    return mean, 2 * mean**2 + arrival_rate * service.moment(3) / (3 * (1 - load))


def cobham(arrival_rates: Sequence[float], services: Sequence[Service]) -> list[float]:
    """Return the mean response time by class under non-preemptive priorities, s.

    Cobham, Priority assignment in waiting line problems, Operations Research 2, 1954.
    """
    loads = _loads(arrival_rates, services)
    residual = _residual(arrival_rates, services)
    return [
        residual / ((1 - sum(loads[:k])) * (1 - sum(loads[: k + 1]))) + service.mean
        for k, service in enumerate(services)
    ]


def preemptive_resume(arrival_rates: Sequence[float], services: Sequence[Service]) -> list[float]:
    """Return the mean response time by class under preemptive-resume priorities, s."""
    loads = _loads(arrival_rates, services)
    means = []
    for k, service in enumerate(services):
        free, residual = 1 - sum(loads[:k]), _residual(arrival_rates[: k + 1], services[: k + 1])
        means.append(residual / (free * (free - loads[k])) + service.mean / free)
    return means


def preemptive_mm1(arrival_rates: Sequence[float], service_rate: float) -> list[float]:
    """Return the mean response time by class where all are exponential with one rate, s.

    An interrupted job's resuming and its getting a new service time are the same then.
    """
    loads = [rate / service_rate for rate in arrival_rates]
    _check_load(loads)
    free = [1 - sum(loads[:k]) for k in range(len(loads) + 1)]
    return [1 / (service_rate * free[k] * free[k + 1]) for k in range(len(loads))]


def preemptive_repeat(arrival_rates: Sequence[float], services: Sequence[Service]) -> list[float]:
    """Return the mean response time by class under preemptive-repeat-identical priorities, s.

    Gaver, A waiting line with interrupted service, including priorities, Journal of the Royal
    Statistical Society B 24, 1962. The loop keeps the first two moments of the busy period of the
    more important classes, whose jobs come at rate `above`.
    """
    means: list[float] = []
    above, busy, busy_square = 0.0, 0.0, 0.0
    for k, (rate, service) in enumerate(zip(arrival_rates, services, strict=True)):
        stretch = 1 + above * busy
        first, second = _completion_moments(service, above, stretch, above * busy_square)
        load = rate * first
        if not (math.isfinite(second) and load < 1):
            raise UnstableQueueError(
                f"the mean response time of class {k} is infinite under preemptive repeat: more "
                f"important jobs come at {above:g} 1/s, and its jobs take {first:g} s each with "
                "all repetitions; lower the arrival rates or the service times"
            )
        waiting = rate * second / (2 * (1 - load)) + above * busy_square / (2 * stretch)
        means.append(waiting + first)
        # The busy period of one class more, begun by its job or by a more important one.
        own, own_square = first / (1 - load), second / (1 - load) ** 3
        more = busy / (1 - load)
        more_square = busy_square / (1 - load) ** 2 + busy * rate * second / (1 - load) ** 3
        total = above + rate
        busy = (above * more + rate * own) / total
        busy_square = (above * more_square + rate * own_square) / total
        above = total
    return means


def _completion_moments(
    service: Service, above: float, stretch: float, square: float
) -> tuple[float, float]:
    """Return the first two moments of the time from a job's first start to its end.

    Interruptions come at rate `above`, 1/s; a second without them takes `stretch` seconds with
    them, and `square` is the rate times their second moment.
    """
    if above == 0:
        return service.mean, service.moment(2)
    once, twice = service.moment(0, above), service.moment(0, 2 * above)
    growth = (once - 1) / above
    growth_square = (twice - 2 * once + 1) / above**2
    slope = service.moment(1, above) / above - growth / above
    first = stretch * growth
    if math.isinf(twice):
        return first, math.inf
    return first, square * growth - 2 * stretch * slope + 2 * stretch**2 * growth_square


def _loads(arrival_rates: Sequence[float], services: Sequence[Service]) -> list[float]:
    loads = [rate * service.mean for rate, service in zip(arrival_rates, services, strict=True)]
    _check_load(loads)
    return loads


def _residual(arrival_rates: Sequence[float], services: Sequence[Service]) -> float:
    """Return the mean work left of the job in service, s."""
    return sum(r * b.moment(2) / 2 for r, b in zip(arrival_rates, services, strict=True))


def _check_load(loads: Sequence[float]) -> None:
    if not all(load > 0 for load in loads):
        raise ModelError(f"rates and times are positive; the loads are {list(loads)}")
    if not sum(loads) < 1:
        raise UnstableQueueError(
            f"the load is {sum(loads):.4g}: it must be below 1; lower the arrival rates or the "
            "service times"
        )
