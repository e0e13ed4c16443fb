"""The deflator on a cell: search by the model, then simulation of its choice."""

from trimtab.config.groups.objective import Objective
from trimtab.policies.dias import Dias
from trimtab.records.deflator_search import DeflatorCandidate, DeflatorSearch, SimulatedResponse
from trimtab.scheduling.deflator import search
from trimtab.scheduling.engine_model import engine_arrivals, engine_classes, engine_power
from trimtab.scheduling.setting import Setting, facts_of
from trimtab.simulation.simulate import simulate


def deflate(setting: Setting, objective: Objective) -> DeflatorSearch:
    """Return the deflator's search for a trace on an engine.

    Raises UserError for a cell that the formulas do not cover.
    """
    stage = setting.stage
    classes = engine_classes(stage, setting.facts.original, setting.bound)
    candidates = search(
        classes,
        engine_power(stage.cluster, stage.hardware),
        objective.classes,
        arrivals=engine_arrivals(stage, setting.facts.original),
        sprint_share=objective.sprint_share,
        energy_weight=objective.energy_weight,
    )
    chosen = next((candidate for candidate in candidates if candidate.chosen), None)
    return DeflatorSearch(
        objective=objective.name,
        cluster=stage.cluster.name,
        trace=stage.trace.name,
        classes=[job_class.name for job_class in classes],
        rows=candidates,
        confirmed=_confirmed(setting, chosen) if chosen else None,
    )


def _confirmed(setting: Setting, chosen: DeflatorCandidate) -> SimulatedResponse:
    facts = facts_of(setting)
    figures = simulate(
        facts.cluster,
        facts.job_classes,
        setting.frames(0),
        Dias(drop_ratio=chosen.drop_ratio, timeout_s=chosen.timeout_s),
        seed=setting.stage.trace.seed,
        keep_jobs=False,
        keep_allocations=False,
    ).classes
    return SimulatedResponse(
        {name: figures[name].response_mean_s for name in chosen.drop_ratio},
        {name: figures[name].response_p95_s for name in chosen.drop_ratio},
    )
