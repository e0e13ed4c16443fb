"""The response times of a cell by formula: a trace with Poisson arrivals on an engine."""

import math
from collections.abc import Sequence
from typing import Any

from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.registry import build_policy
from trimtab.queueing.poisson_priority import Discipline, response_times, waste
from trimtab.queueing.services import Service, Sprinted
from trimtab.scheduling.deflator import EngineClass, EnginePower
from trimtab.scheduling.engine_model import engine_classes, engine_power
from trimtab.scheduling.measured import workloads_of
from trimtab.scheduling.schedule import Setting, facts_of

_RANKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def calculate(setting: Setting, policy: PolicyConfig) -> dict[str, Any]:
    """Return what the formulas say of a cell, as `analytic.json` holds it.

    That no formula covers a cell is a finding, `not_possible_because`. Raises UserError for a
    policy that cannot be built.
    """
    built = build_policy(policy.kind, policy.parameters, facts_of(setting))
    document: dict[str, Any] = {"model": "", "classes": {}, "not_possible_because": ""}
    try:
        original = workloads_of(setting.document["original"])
        classes = engine_classes(setting.trace, setting.cluster, setting.hardware, original)
        power = engine_power(setting.cluster, setting.hardware)
        document["classes"] = response_by_formula(classes, power, built, policy)
        document["model"] = "phase-type processing times, Poisson arrivals"
    except UserError as error:
        document["not_possible_because"] = str(error)
    return document


def response_by_formula(
    classes: Sequence[EngineClass], power: EnginePower, policy: Policy, config: PolicyConfig
) -> dict[str, dict[str, float]]:
    """Return what the formulas say of each class: mean and percentiles of response times, s.

    `classes` come in the order of decreasing importance; `policy` is what `config` describes.
    Raises UserError for a policy that no formula here covers: one that is not a queue by priority,
    or has a sprint budget that ends.
    """
    discipline = policy.discipline()
    if discipline is None:
        raise UserError(f"policy {config.name}: no formula for the kind {config.kind}")
    if math.isfinite(policy.budget_s):
        raise UserError(f"policy {config.name}: no formula for a sprint budget that may be used up")
    services: list[Service] = []
    for one in classes:
        job = one.processing_time(policy.drop_ratio.get(one.name, 0.0))
        after_s = policy.timeout_s.get(one.name)
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
