"""The deflator on a cell: the search by the model, and its choice confirmed by simulation."""

import math
from dataclasses import asdict
from typing import Any

from trimtab.config.groups.objective import ClassLimits, Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.policies.registry import build_policy
from trimtab.scheduling.deflator import Choice, Limits, search
from trimtab.scheduling.engine_model import engine_classes, engine_power
from trimtab.scheduling.measured import workloads_of
from trimtab.scheduling.schedule import Setting, facts_of
from trimtab.simulation.simulate import simulate


def deflate(setting: Setting, objective: Objective) -> dict[str, Any]:
    """Return what the deflator found for a trace on an engine, as `deflator_*.json` holds it.

    `rows` are all stable combinations of the objective's choices, `confirmed` the response times
    that a simulation of the chosen one has; None where nothing is feasible. Raises UserError for a
    cell that the formulas do not cover.
    """
    original = workloads_of(setting.document["original"])
    classes = engine_classes(setting.trace, setting.cluster, setting.hardware, original)
    choices = search(
        classes,
        engine_power(setting.cluster, setting.hardware),
        {name: _limits(given) for name, given in objective.classes.items()},
        sprint_share=objective.sprint_share,
        energy_weight=objective.energy_weight,
    )
    chosen = next((choice for choice in choices if choice.chosen), None)
    return {
        "objective": objective.name,
        "cluster": setting.cluster.name,
        "trace": setting.trace.name,
        "classes": [one.name for one in classes],
        "rows": [asdict(choice) for choice in choices],
        "confirmed": _confirmed(setting, chosen) if chosen else None,
    }


def policy_of(choice: Choice) -> PolicyConfig:
    """Return the policy that a choice of the deflator is."""
    timeouts_s = {
        name: after_s for name, after_s in choice.timeout_s.items() if after_s is not None
    }
    parameters = {"drop_ratio": dict(choice.drop_ratio), "timeout_s": timeouts_s}
    return PolicyConfig(name="deflator", kind="dias", label="deflator", parameters=parameters)


def _confirmed(setting: Setting, choice: Choice) -> dict[str, dict[str, float]]:
    policy, facts = policy_of(choice), facts_of(setting)
    result = simulate(
        facts.cluster,
        facts.job_classes,
        setting.frames(0),
        build_policy(policy.kind, policy.parameters, facts),
        seed=setting.trace.seed,
        keep_jobs=False,
        keep_stays=False,
    )
    found = result.summary["classes"]
    return {
        key: {name: found[name][key] for name in choice.drop_ratio}
        for key in ("response_mean_s", "response_p95_s")
    }


def _limits(given: ClassLimits) -> Limits:
    return Limits(
        drop_ratios=given.drop_ratios,
        timeouts_s=given.timeouts_s,
        accuracy_loss_pct=given.accuracy_loss_pct,
        response_mean_s=math.inf if given.response_mean_s is None else given.response_mean_s,
        response_p95_s=math.inf if given.response_p95_s is None else given.response_p95_s,
        weight=given.weight,
    )
