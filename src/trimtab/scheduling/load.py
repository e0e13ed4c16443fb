"""The load of a cell, known before its simulation: whether its queue has a steady state."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq

from trimtab.clusters.cluster import Level, check_classes
from trimtab.config.groups.jobs.arrivals import ArrivalKind
from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.registry import build_policy
from trimtab.queueing.poisson_priority import REPEATING, Discipline, server_time_s
from trimtab.queueing.services import Service, Sprinted
from trimtab.scheduling.deflator import EngineClass
from trimtab.scheduling.engine_model import STATIONARY, engine_classes
from trimtab.scheduling.setting import Setting, facts_of
from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.simulate import offered_loads


@dataclass(frozen=True)
class CellLoad:
    """The share of the cluster's time that arriving jobs take: 1 is its capacity.

    Dropped tasks and sprints lower it. `repeated` says whether it has the lost attempts of evicted
    jobs; it is infinite if their mean diverges. `resource` is the scarcest one, "" for an engine
    that runs one job at a time.
    """

    total: float
    repeated: bool
    resource: str = ""

    @property
    def unstable_because(self) -> str:
        """The reason why the queue grows with every job; "" if it does not."""
        if self.total < 1:
            return ""
        again = ", repeats of evicted jobs included" if self.repeated else ""
        of = f" of {self.resource}" if self.resource else ""
        return f"the load{of} is {self.total:.3g}{again}"


def warn_if_unstable(setting: Setting, policy: PolicyConfig) -> CellLoad | None:
    """Return the load of a cell by `load_of`, with a warning if its queue is unstable."""
    load = load_of(setting, policy)
    if load is not None and load.unstable_because:
        stage = setting.stage
        warnings.warn(
            f"trace {stage.trace.name} on {stage.cluster.name} under {policy.name} is unstable: "
            f"{load.unstable_because}, expected less than 1. Its times grow with the number of "
            "jobs, so nothing is compared with it. Lower the trace's arrival rate.",
            stacklevel=2,
        )
    return load


def load_of(setting: Setting, policy: PolicyConfig) -> CellLoad | None:
    """Return the load of a cell without simulating; None for arrivals without a steady state.

    On an engine it follows from rates, processing times and the policy: see `engine_load`.
    Elsewhere, and where jobs repeat and arrivals are no Poisson arrivals, it is the work of the
    drawn jobs, without repeats and sprints. Raises
    UserError for a policy that cannot be built, a class without a place, or an invalid trace.
    """
    if setting.stage.trace.arrivals.kind not in STATIONARY:
        return None
    facts = facts_of(setting)
    check_classes(facts.cluster, facts.job_classes)
    built = build_policy(policy.kind, policy.parameters, facts)
    poisson = setting.stage.trace.arrivals.kind == ArrivalKind.POISSON
    if built.discipline() in REPEATING and not poisson:
        return _load_of_drawn_jobs(setting, facts, built)
    try:
        classes = engine_classes(setting.stage, setting.facts.original, setting.bound)
    except UserError:  # no formula covers it
        return _load_of_drawn_jobs(setting, facts, built)
    (engine,) = facts.cluster.node_types
    return engine_load(classes, engine.levels, built)


def engine_load(
    classes: Sequence[EngineClass], levels: Sequence[Level], policy: Policy
) -> CellLoad:
    """Return the load of an engine that runs one job at a time under a policy.

    `classes` are in the order of decreasing importance; their processing times are at the first of
    the frequency `levels`. Preemptive repeat adds lost attempts. A limited sprint budget is worth
    its replenishment: an initial budget is used up in the long run.
    """
    normal = levels[policy.level].speed / levels[0].speed
    speed_up = max(1.0, levels[policy.sprint_level].speed / levels[policy.level].speed)
    # Times are in seconds at the first level, rates in jobs for each of them.
    rates = [job_class.rate_per_s / normal for job_class in classes]
    unsprinted: list[Service] = []
    services: list[Service] = []
    sprinting = 0.0
    for job_class, rate in zip(classes, rates, strict=True):
        job = job_class.processing_time(policy.drop_ratio.get(job_class.name, 0.0))
        unsprinted.append(job)
        after_s = policy.timeout_s.get(job_class.name)
        if after_s is None:
            services.append(job)
        else:
            sprinted = Sprinted(job, after_s * normal, speed_up)
            services.append(sprinted)
            sprinting += rate * sprinted.sprinting_s
    discipline = policy.discipline() or Discipline.NON_PREEMPTIVE
    saved = 0.0
    if sprinting > policy.replenish_s_per_s and math.isfinite(policy.budget_s):
        services, saved = unsprinted, (speed_up - 1) * policy.replenish_s_per_s
    times_s = server_time_s(rates, services, discipline)
    total = sum(rate * time_s for rate, time_s in zip(rates, times_s, strict=True))
    return CellLoad(total - saved, discipline in REPEATING)


def _load_of_drawn_jobs(setting: Setting, facts: PolicyInputs, policy: Policy) -> CellLoad | None:
    arrivals = Arrivals(facts.cluster, facts.job_classes, policy.drop_ratio, facts.seed)
    with pq.ParquetFile(setting.trace_path) as file:
        for batch in file.iter_batches():
            arrivals.chunk(batch.to_pandas())
    loads = offered_loads(arrivals, policy.level)
    if loads is None:
        return None
    scarcest = max(loads, key=loads.__getitem__)
    return CellLoad(loads[scarcest], repeated=False, resource=scarcest)
