"""One server and K priorities of Poisson arrivals: the full distribution of response times.

Classes are always in the order of decreasing importance.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

import numpy as np

from trimtab.queueing.errors import ModelError, UnstableQueueError
from trimtab.queueing.resampling import Resampling
from trimtab.queueing.response import ResponseTime
from trimtab.queueing.services import Service
from trimtab.queueing.taylor import Taylor
from trimtab.queueing.transforms import Points, PoissonQueue, Repeating, Resuming, moments_series


class Discipline(StrEnum):
    """The effect of an arrival on a less important job in service."""

    NON_PREEMPTIVE = "non-preemptive"
    PREEMPTIVE_RESUME = "preemptive-resume"
    PREEMPTIVE_REPEAT = "preemptive-repeat"
    PREEMPTIVE_RESAMPLE = "preemptive-resample"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        # Every member is true: a Boolean in its place, or it in a Boolean's, would be misread.
        expected = ", ".join(f"Discipline.{each.name}" for each in cls)
        raise ModelError(f"discipline: {value!r} given, expected one of {expected}")


REPEATING = (Discipline.PREEMPTIVE_REPEAT, Discipline.PREEMPTIVE_RESAMPLE)


@dataclass(frozen=True, eq=False)
class PriorityResponse(ResponseTime):
    """The response time of one class: the time to its job's start, and from there to its end.

    `parts` gives the transforms of both as power series of some order. Moments come from these and
    are exact, without inverting a transform. They may diverge under preemptive repeat, and are then
    infinite.
    """

    parts: Callable[[int], tuple[Taylor, Taylor]]

    def moment(self, k: int) -> float:
        """Return the k-th moment about zero, E[X^k]; infinity where it diverges."""
        if k < 1:
            raise ModelError(f"moments are from the first on, not {k}")
        with np.errstate(invalid="ignore"):
            waiting, execution = self.parts(k + 1)
            moment = (waiting * execution).moment(k)
        # A diverging moment is infinite or NaN in the series.
        return moment if math.isfinite(moment) else math.inf


def response_times(
    arrival_rates: Sequence[float], services: Sequence[Service], discipline: Discipline
) -> list[PriorityResponse]:
    """Return the response time of each class, the most important first.

    Jobs of class k arrive at `arrival_rates[k]`, 1/s, as a Poisson process and need times
    `services[k]`. The server takes the most important waiting job, first come, first served within
    a class. Under PREEMPTIVE_REPEAT an interrupted job restarts with the same service time, under
    PREEMPTIVE_RESAMPLE with a new one. Raises ModelError for invalid rates or no Discipline, and
    UnstableQueueError where more work arrives than the server can do.
    """
    discipline = Discipline(discipline)
    rates = tuple(float(rate) for rate in arrival_rates)
    if not rates or len(rates) != len(services):
        raise ModelError(f"{len(rates)} arrival rates do not fit {len(services)} service times")
    if not all(0 < rate < math.inf for rate in rates):
        raise ModelError(f"arrival rates are positive: {', '.join(f'{r:g}' for r in rates)}")
    queue = PoissonQueue(rates, tuple(services))
    work_s = server_time_s(rates, services, discipline)
    idle = 1 - np.cumsum([rate * work for rate, work in zip(rates, work_s, strict=True)])
    if not idle[-1] > 0:
        raise UnstableQueueError(_too_much(queue, work_s, discipline in REPEATING))
    classes: list[_NonPreemptive | _Preemptive] = []
    for k in range(len(rates)):
        if discipline is Discipline.NON_PREEMPTIVE:
            classes.append(_NonPreemptive(queue, k, float(idle[-1])))
        else:
            delays = _DELAYS[discipline](queue)
            classes.append(_Preemptive(queue, k, float(idle[k]), delays))
    return [
        PriorityResponse(one.transform, 1 / service.mean, one.parts)
        for one, service in zip(classes, services, strict=True)
    ]


def server_time_s(
    arrival_rates: Sequence[float], services: Sequence[Service], discipline: Discipline
) -> list[float]:
    """Return the server's mean time for a job of each class, lost attempts included.

    Infinite where preemptive repeat needs a moment that diverges. Raises ModelError for no
    Discipline.
    """
    discipline = Discipline(discipline)
    if discipline not in REPEATING:
        return [service.mean for service in services]
    queue = PoissonQueue(tuple(arrival_rates), tuple(services))
    resampled = discipline is Discipline.PREEMPTIVE_RESAMPLE
    repeating = Resampling(queue) if resampled else Repeating(queue)
    return [repeating.attempts_s(k) for k in range(len(services))]


def execution_s(
    arrival_rates: Sequence[float], services: Sequence[Service], discipline: Discipline
) -> list[float]:
    """Return the mean service time that a job of each class finishes with, s.

    Under PREEMPTIVE_RESAMPLE it is below the mean: short ones are interrupted less.
    """
    if Discipline(discipline) is not Discipline.PREEMPTIVE_RESAMPLE:
        return [service.mean for service in services]
    resampling = Resampling(PoissonQueue(tuple(arrival_rates), tuple(services)))
    return [resampling.execution_s(k) for k in range(len(services))]


def waste(
    arrival_rates: Sequence[float], services: Sequence[Service], discipline: Discipline
) -> float:
    """Return the share of the server's busy time that is spent on lost attempts.

    Rocha's thesis, section 4.4.3: machine time for re-processing evicted jobs, divided by all
    processing time.
    """
    times = zip(
        arrival_rates,
        execution_s(arrival_rates, services, discipline),
        server_time_s(arrival_rates, services, discipline),
        strict=True,
    )
    done, busy = np.sum([(rate * last, rate * all_) for rate, last, all_ in times], axis=0)
    return float(1 - done / busy)


@dataclass(frozen=True, eq=False)
class _NonPreemptive:
    """Class `k` of a queue whose server is idle for the share `idle` of the time."""

    queue: PoissonQueue
    k: int
    idle: float

    def transform(self, s: Points) -> Points:
        """Return the transform of the response time at points s, (n,)."""
        rate, services = self.queue.rates[self.k], self.queue.services
        sigma = Resuming(self.queue).delay(self.k, s)
        begun = self.idle * sigma
        for less, service in self._less_important():
            begun = begun + less * (1 - service.laplace(sigma))
        waiting = begun / (s - rate * (1 - services[self.k].laplace(sigma)))
        return np.asarray(waiting * services[self.k].laplace(s))

    def parts(self, order: int) -> tuple[Taylor, Taylor]:
        """Return the power series of the waiting and of the service time."""
        service = moments_series(self.queue.services[self.k], order)
        sigma = Resuming(self.queue).delay_series(self.k, order)
        begun = self.idle * sigma
        for less, other in self._less_important():
            begun = begun + less * (1 - moments_series(other, order)(sigma))
        s = Taylor.variable(order)
        return begun / (s - self.queue.rates[self.k] * (1 - service(sigma))), service

    def _less_important(self) -> list[tuple[float, Service]]:
        rates, services = self.queue.rates[self.k + 1 :], self.queue.services[self.k + 1 :]
        return list(zip(rates, services, strict=True))


@dataclass(frozen=True, eq=False)
class _Preemptive:
    """Class `k`; for the share `idle` of the time no job is as important as its jobs."""

    queue: PoissonQueue
    k: int
    idle: float
    delays: Resuming | Repeating

    def transform(self, s: Points) -> Points:
        """Return the transform of the response time at points s, (n,)."""
        sigma, completion = self.delays.delay_and_completion(self.k, s)
        rate = self.queue.rates[self.k]
        return np.asarray(self.idle * sigma / (s - rate * (1 - completion)) * completion)

    def parts(self, order: int) -> tuple[Taylor, Taylor]:
        """Return the power series of the time to the first start, and from there to the end."""
        sigma, completion = self.delays.series(self.k, order)
        s = Taylor.variable(order)
        return self.idle * sigma / (s - self.queue.rates[self.k] * (1 - completion)), completion


_DELAYS: dict[Discipline, Callable[[PoissonQueue], Resuming | Repeating]] = {
    Discipline.PREEMPTIVE_RESUME: Resuming,
    Discipline.PREEMPTIVE_REPEAT: Repeating,
    Discipline.PREEMPTIVE_RESAMPLE: Resampling,
}


def _too_much(queue: PoissonQueue, work_s: Sequence[float], repeats: bool) -> str:
    loads = [rate * work for rate, work in zip(queue.rates, work_s, strict=True)]
    again = ", repetitions of interrupted jobs included" if repeats else ""
    return (
        f"the load is {sum(loads):.4g}{again} (by class: {', '.join(f'{x:.3g}' for x in loads)}): "
        "it must be below 1; lower the arrival rates or the service times"
    )
