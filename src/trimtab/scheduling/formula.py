"""The response times of a cell by formula: a trace with Poisson arrivals on an engine."""

import math
from collections.abc import Mapping, Sequence

from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.queueing.poisson_priority import Discipline, response_times, waste
from trimtab.queueing.services import Service, Sprinted
from trimtab.scheduling.deflator import EngineClass, EnginePower

_DISCIPLINES = {
    "none": Discipline.NON_PREEMPTIVE,
    "repeat": Discipline.PREEMPTIVE_REPEAT,
    "resume": Discipline.PREEMPTIVE_RESUME,
}
_RANKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def response_by_formula(
    classes: Sequence[EngineClass], power: EnginePower, policy: PolicyConfig
) -> dict[str, dict[str, float]]:
    """Return what the formulas say of each class: mean and percentiles of response times, s.

    `classes` come in the order of decreasing importance. Raises UserError for a policy that no
    formula here covers: another kind than `priority` and `dias`, or a sprint budget that ends.
    """
    drop_ratio: Mapping[str, float] = policy.parameters.get("drop_ratio", {})
    timeout_s: Mapping[str, float] = policy.parameters.get("timeout_s", {})
    if policy.kind not in ("priority", "dias"):
        raise UserError(f"policy {policy.name}: no formula for the kind {policy.kind}")
    if math.isfinite(policy.parameters.get("budget_s") or math.inf):
        raise UserError(f"policy {policy.name}: no formula for a sprint budget that may be used up")
    discipline = _DISCIPLINES[policy.parameters.get("preemption", "none")]
    services: list[Service] = []
    for one in classes:
        job = one.processing_time(drop_ratio.get(one.name, 0.0))
        after_s = timeout_s.get(one.name)
        services.append(job if after_s is None else Sprinted(job, after_s, power.speed_up))
    rates = [one.rate_per_s for one in classes]
    repeats = discipline is Discipline.PREEMPTIVE_REPEAT
    wasted = waste(rates, services) if repeats else 0.0
    return {
        one.name: {
            "response_mean_s": response.mean,
            **{f"response_{name}_s": response.quantile(rank) for name, rank in _RANKS.items()},
            "waiting_mean_s": response.mean - service.mean,
            "execution_mean_s": service.mean,
            "waste_share": wasted,
        }
        for one, service, response in zip(
            classes, services, response_times(rates, services, discipline), strict=True
        )
    }
