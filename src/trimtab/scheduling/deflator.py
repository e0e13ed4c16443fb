"""DiAS' deflator: finds drop ratios and sprint timeouts within all limits, by the model.

Rocha's thesis, sections 4.2.2 and 4.4.4: the search is exhaustive. The response times of each
combination are calculated (a single server, K priorities, non-preemptive). The best one is chosen
among those within the limits of accuracy, latency and sprint budget.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.config.groups.objective import ClassLimits
from trimtab.errors import UserError
from trimtab.queueing.errors import UnstableQueueError
from trimtab.queueing.mmap import MarkedArrivals
from trimtab.queueing.mmap_priority import priority_queue
from trimtab.queueing.phase_type import PhaseType
from trimtab.queueing.poisson_priority import Discipline, response_times
from trimtab.queueing.response import ResponseTime
from trimtab.queueing.services import Service, Sprinted
from trimtab.records.deflator_search import DeflatorCandidate


@dataclass(frozen=True)
class EngineClass:
    """A class of jobs on the engine: `processing_time` of a drop ratio, at normal speed.

    `accuracy_loss` are pairs of drop ratio and loss in per cent, rising; linear between them.
    """

    name: str
    rate_per_s: float
    processing_time: Callable[[float], PhaseType]
    accuracy_loss: Sequence[tuple[float, float]] = ()

    def loss_pct(self, drop_ratio: float) -> float:
        """Return the loss of accuracy at a drop ratio, in per cent; UserError where unknown."""
        try:
            return loss_pct(self.accuracy_loss, drop_ratio)
        except UserError as error:
            raise UserError(f"class {self.name}: {error}") from None


def loss_pct(accuracy_loss: Sequence[tuple[float, float]], drop_ratio: float) -> float:
    """Return the loss of accuracy at a drop ratio, linear between the pairs of ratio and loss.

    Raises UserError for a ratio beyond the pairs.
    """
    if drop_ratio == 0:
        return 0.0
    if not accuracy_loss or drop_ratio > accuracy_loss[-1][0]:
        raise UserError(
            f"accuracy_loss: says nothing of the drop ratio {drop_ratio:g}; expected pairs of drop "
            "ratio and loss that reach it"
        )
    ratios, losses = zip(*accuracy_loss, strict=True)
    return float(np.interp(drop_ratio, ratios, losses))


@dataclass(frozen=True)
class EnginePower:
    """The engine's power when idle, working and sprinting, in W, and the speed-up of a sprint."""

    idle_w: float
    busy_w: float
    sprint_w: float
    speed_up: float


def search(
    classes: Sequence[EngineClass],
    power: EnginePower,
    limits: Mapping[str, ClassLimits],
    *,
    arrivals: MarkedArrivals | None = None,
    sprint_share: float = 1.0,
    energy_weight: float = 0.0,
) -> list[DeflatorCandidate]:
    """Return every stable combination, with the Pareto set and the choice marked.

    `classes` are in the order of decreasing importance; `arrivals` are theirs if they are no
    Poisson arrivals. The Pareto set holds feasible combinations,
    by mean response time and loss of accuracy of each class, and energy. The choice minimises the
    sum of weight times mean response time, plus `energy_weight` times energy. Without a feasible
    combination nothing is marked. Raises UserError for a class without limits.
    """
    names = [job_class.name for job_class in classes]
    missing = [name for name in names if name not in limits]
    if missing:
        raise UserError(f"objective: classes: expected limits of {', '.join(missing)} too")
    all_drop_ratios = itertools.product(*(limits[name].drop_ratios for name in names))
    all_timeouts_s = itertools.product(*(limits[name].timeouts_s for name in names))
    candidates = [
        candidate
        for drop_ratios, timeouts_s in itertools.product(all_drop_ratios, all_timeouts_s)
        if (
            candidate := _evaluate(
                classes, power, limits, arrivals, drop_ratios, timeouts_s, sprint_share
            )
        )
    ]
    feasible = [candidate for candidate in candidates if candidate.feasible]
    front = pareto([_costs(candidate) for candidate in feasible])
    on_front = [candidate for candidate, kept in zip(feasible, front, strict=True) if kept]

    def weighted(candidate: DeflatorCandidate) -> float:
        response = sum(limits[name].weight * s for name, s in candidate.response_mean_s.items())
        return response + energy_weight * candidate.energy_j_per_job

    best, kept = min(on_front, key=weighted, default=None), set(map(id, on_front))
    return [
        replace(candidate, pareto=id(candidate) in kept, chosen=candidate is best)
        for candidate in candidates
    ]


def pareto(costs: Sequence[Sequence[float]]) -> list[bool]:
    """Return which points are Pareto-optimal: no other is as good in all and better in one."""
    points = np.array(costs, dtype=float)
    return [
        not bool(((points <= point).all(axis=1) & (points < point).any(axis=1)).any())
        for point in points
    ]


def _evaluate(
    classes: Sequence[EngineClass],
    power: EnginePower,
    limits: Mapping[str, ClassLimits],
    arrivals: MarkedArrivals | None,
    drop_ratios: Sequence[float],
    timeouts_s: Sequence[float | None],
    sprint_share: float,
) -> DeflatorCandidate | None:
    names = [job_class.name for job_class in classes]
    rates = [job_class.rate_per_s for job_class in classes]
    services: list[Service] = []
    sprinting = busy = 0.0
    for job_class, ratio, timeout_s in zip(classes, drop_ratios, timeouts_s, strict=True):
        job = job_class.processing_time(ratio)
        sprinted = None if timeout_s is None else Sprinted(job, timeout_s, power.speed_up)
        services.append(sprinted or job)
        busy += job_class.rate_per_s * services[-1].mean
        sprinting += job_class.rate_per_s * (sprinted.sprinting_s if sprinted else 0.0)
    responses: Sequence[ResponseTime]
    try:
        if arrivals is None:
            responses = response_times(rates, services, Discipline.NON_PREEMPTIVE)
        else:
            responses = priority_queue(arrivals, services, Discipline.NON_PREEMPTIVE)
    except UnstableQueueError:
        return None
    losses = {
        job_class.name: job_class.loss_pct(ratio)
        for job_class, ratio in zip(classes, drop_ratios, strict=True)
    }
    means = {name: response.mean for name, response in zip(names, responses, strict=True)}
    tails = {name: response.quantile(0.95) for name, response in zip(names, responses, strict=True)}
    mean_w = (
        power.idle_w
        + (power.busy_w - power.idle_w) * (busy - sprinting)
        + (power.sprint_w - power.idle_w) * sprinting
    )
    return DeflatorCandidate(
        drop_ratio=dict(zip(names, drop_ratios, strict=True)),
        timeout_s=dict(zip(names, timeouts_s, strict=True)),
        accuracy_loss_pct=losses,
        response_mean_s=means,
        response_p95_s=tails,
        energy_j_per_job=mean_w / sum(rates),
        sprint_share=sprinting,
        feasible=sprinting <= sprint_share
        and all(
            losses[name] <= limits[name].accuracy_loss_pct
            and _within(means[name], limits[name].response_mean_s)
            and _within(tails[name], limits[name].response_p95_s)
            for name in names
        ),
    )


def _within(response_s: float, limit_s: float | None) -> bool:
    return limit_s is None or response_s <= limit_s


def _costs(candidate: DeflatorCandidate) -> list[float]:
    return [
        *candidate.response_mean_s.values(),
        *candidate.accuracy_loss_pct.values(),
        candidate.energy_j_per_job,
    ]
