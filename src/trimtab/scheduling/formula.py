"""The response times of a cell by formula: a trace with stationary arrivals on an engine."""

import math
from collections.abc import Sequence

from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.registry import build_policy
from trimtab.queueing.mmap import MarkedArrivals
from trimtab.queueing.mmap_priority import priority_queue
from trimtab.queueing.poisson_priority import execution_s, response_times, waste
from trimtab.queueing.response import ResponseTime
from trimtab.queueing.services import Service, Sprinted
from trimtab.records.figures import ResponseFigures
from trimtab.records.summary import FormulaResponse
from trimtab.scheduling.deflator import EngineClass, EnginePower
from trimtab.scheduling.engine_model import engine_arrivals, engine_classes, engine_power
from trimtab.scheduling.equal_servers import response_of_equal_servers
from trimtab.scheduling.setting import Setting, facts_of


def calculate(setting: Setting, policy: PolicyConfig) -> FormulaResponse:
    """Return the response times of a cell by the formulas.

    A cell that no formula covers is a result, with `not_possible_because`. Raises UserError for a
    policy that cannot be built.
    """
    built = build_policy(policy.kind, policy.parameters, facts_of(setting))
    try:
        if not setting.stage.cluster.engine_slots:
            return response_of_equal_servers(setting.stage, setting.facts.original, built, policy)
        classes = engine_classes(setting.stage, setting.facts.original, setting.bound)
        arrivals = engine_arrivals(setting.stage, setting.facts.original)
        power = engine_power(setting.stage.cluster, setting.stage.hardware)
        figures = response_by_formula(classes, power, built, policy, arrivals)
    except UserError as error:
        return FormulaResponse(not_possible_because=str(error))
    kind = "Poisson arrivals" if arrivals is None else "marked Markovian arrivals"
    return FormulaResponse(model=f"phase-type processing times, {kind}", classes=figures)


def response_by_formula(
    classes: Sequence[EngineClass],
    power: EnginePower,
    policy: Policy,
    config: PolicyConfig,
    arrivals: MarkedArrivals | None = None,
) -> dict[str, ResponseFigures]:
    """Return the response times of each class by the formulas.

    `classes` are in the order of decreasing importance; `policy` is built from `config`. `arrivals`
    are theirs if they are no Poisson arrivals. Raises UserError for a policy that no formula here
    covers: one that is not a priority queue, or has a limited sprint budget, or repeats jobs of
    `arrivals`.
    """
    discipline = policy.discipline()
    if discipline is None:
        raise UserError(f"policy {config.name}: no formula for the kind {config.kind}")
    if math.isfinite(policy.budget_s):
        raise UserError(f"policy {config.name}: no formula for a sprint budget that may be used up")
    services: list[Service] = []
    for job_class in classes:
        job = job_class.processing_time(policy.drop_ratio.get(job_class.name, 0.0))
        after_s = policy.timeout_s.get(job_class.name)
        services.append(job if after_s is None else Sprinted(job, after_s, power.speed_up))
    rates = [job_class.rate_per_s for job_class in classes]
    responses: Sequence[ResponseTime]
    if arrivals is None:
        responses = response_times(rates, services, discipline)
    else:
        responses = priority_queue(arrivals, services, discipline)
    executions_s = execution_s(rates, services, discipline)
    wasted = waste(rates, services, discipline)
    return {
        job_class.name: ResponseFigures(
            response_mean_s=response.mean,
            response_p50_s=response.quantile(0.5),
            response_p95_s=response.quantile(0.95),
            response_p99_s=response.quantile(0.99),
            waiting_mean_s=response.mean - executed_s,
            execution_mean_s=executed_s,
            waste_share=wasted,
        )
        for job_class, executed_s, response in zip(classes, executions_s, responses, strict=True)
    }
