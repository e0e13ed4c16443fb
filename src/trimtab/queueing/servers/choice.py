"""The best formula for a queue of several servers: exact where one is known, or else about."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_type import PhaseType
from trimtab.queueing.poisson_priority import Discipline
from trimtab.queueing.poisson_priority import response_times as of_one_server
from trimtab.queueing.response import ResponseTime
from trimtab.queueing.servers import approximations, first_come, priorities

_COVERED = (None, Discipline.NON_PREEMPTIVE, Discipline.PREEMPTIVE_RESUME)


@dataclass(frozen=True)
class ServiceTime:
    """A service time: mean, s, and squared coefficient of variation.

    `phases` is its distribution; None if it is not of phase type.
    """

    mean_s: float
    scv: float
    phases: PhaseType | None


@dataclass(frozen=True)
class Answer:
    """Mean response times, s, of each class, and `model`, the formula and whether it is exact.

    `distributions` is None where means alone are known; `bounds_s` of means, where they are known.
    """

    model: str
    means_s: list[float]
    distributions: Sequence[ResponseTime] | None = None
    bounds_s: list[tuple[float, float]] | None = None


def solve(
    rates: Sequence[float],
    services: Sequence[ServiceTime],
    servers: int,
    discipline: Discipline | None,
) -> Answer:
    """Return the response times of classes, the most important first.

    Jobs of class k arrive at `rates[k]`, 1/s, and need `services[k]` of one of `servers` equal
    servers. Without a discipline, all are served in the order of arrival. Raises UnstableQueueError
    for a load of one or more, and ModelError for repeated jobs on several servers.
    """
    phases = [each.phases for each in services if each.phases is not None]
    known = len(phases) == len(services)
    if servers == 1 and discipline is not None and known:
        return _exact("M/PH/1 with priorities", of_one_server(rates, phases, discipline))
    if discipline not in _COVERED:
        raise ModelError(f"no formula for {discipline} on {servers} servers")
    exponential = known and all(each.phases == 1 for each in phases)
    if discipline is None:
        if known and _is_small(rates, phases, servers):
            return _exact("M/PH/c", first_come.response_times(rates, phases, servers))
    elif exponential and len({each.mean_s for each in services}) == 1:
        mean_s = services[0].mean_s
        if discipline is Discipline.NON_PREEMPTIVE:
            found = priorities.non_preemptive(rates, mean_s, servers)
            return _exact("M/M/c with priorities", found)
        means_s = priorities.preemptive_resume_means_s(rates, mean_s, servers)
        return Answer("exact means: M/M/c with preemptive priorities", means_s)
    return _about(rates, services, servers, discipline)


def _is_small(rates: Sequence[float], phases: Sequence[PhaseType], servers: int) -> bool:
    together = first_come.mixture(rates, phases)
    return first_come.states_of(together, servers) <= first_come.MOST_STATES


def _exact(model: str, found: Sequence[ResponseTime]) -> Answer:
    return Answer(f"exact: {model}", [each.mean for each in found], found)


def _about(
    rates: Sequence[float],
    services: Sequence[ServiceTime],
    servers: int,
    discipline: Discipline | None,
) -> Answer:
    means_s, scvs = [each.mean_s for each in services], [each.scv for each in services]
    if discipline is not None:
        waits_s = approximations.bondi_buzen_s(rates, means_s, scvs, servers, discipline)
        total_s = [wait_s + mean_s for wait_s, mean_s in zip(waits_s, means_s, strict=True)]
        return Answer("approximation of Bondi and Buzen: M/G/c with priorities", total_s)
    together = approximations.pooled(rates, means_s, scvs)
    wait_s = approximations.lee_longton_s(*together, servers)
    low_s, high_s = approximations.wait_bounds_s(*together, servers)
    return Answer(
        "approximation of Lee and Longton, bounds of Brumelle and Wolff: M/G/c",
        [wait_s + mean_s for mean_s in means_s],
        bounds_s=[(low_s + mean_s, high_s + mean_s) for mean_s in means_s],
    )
