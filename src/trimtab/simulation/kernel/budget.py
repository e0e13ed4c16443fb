"""The sprint budget: seconds of one job's sprinting, which come back over time."""

from typing import Any

from trimtab.clusters.compiled import inlined, lean
from trimtab.clusters.layout import Model, State, never


@inlined
def settle_budget(m: Model, s: State) -> None:
    """Bring the sprint budget up to date; before the number of sprinters changes."""
    clock, rules = s.clock[0], m.rules[0]
    elapsed = clock.now_s - clock.budget_at_s
    budget_s = clock.budget_s + (rules.replenish_s_per_s - clock.sprinters) * elapsed
    clock.budget_s = min(rules.budget_s, max(0.0, budget_s))
    clock.budget_at_s = clock.now_s


@inlined
def foresee_empty(m: Model, s: State) -> None:
    """Find when the sprint budget will be empty; after the number of sprinters changed."""
    clock = s.clock[0]
    drain = clock.sprinters - m.rules[0].replenish_s_per_s
    clock.empty_s = clock.now_s + clock.budget_s / drain if drain > 0.0 else never


@lean
def end_sprint(m: Model, s: State, job: Any) -> None:
    """Note that a job sprints no more; its stay has not been changed yet."""
    clock = s.clock[0]
    settle_budget(m, s)
    job.sprinting = 0
    job.sprinted_s += clock.now_s - job.stay_s
    clock.sprinters -= 1
    foresee_empty(m, s)
