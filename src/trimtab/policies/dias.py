"""DiAS: differential approximation and sprinting instead of eviction."""

import math
from collections.abc import Mapping

from trimtab.errors import UserError
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.layout import FIRST_FIT
from trimtab.policies.priority import Preemption, Priority


class Dias(Priority):
    """Non-preemptive priority buffers with a dropper and a sprinter (Rocha's thesis, chapter 4).

    `drop_ratio` is theta by job class: of n tasks of a round ceil(n (1 - theta)) are run.
    `timeout_s` is T by job class: after T, an execution sprints at `sprint_level` until it ends or
    the budget is empty, and does not sprint again. A missing class, or None, never sprints.
    `budget_s` is in seconds of one job's sprinting, full at the start; None: unlimited.
    `replenish_s_per_s` is added every second, also during sprints, up to `budget_s`. Jobs start at
    `level`.

    NPS is `Dias(timeout_s=...)`, DA(theta) is `Dias(drop_ratio=...)`.
    """

    placement_rule = FIRST_FIT
    discipline = Priority.discipline

    def __init__(
        self,
        *,
        drop_ratio: Mapping[str, float] | None = None,
        timeout_s: Mapping[str, float | None] | None = None,
        budget_s: float | None = None,
        replenish_s_per_s: float = 0.0,
        level: int = 0,
        sprint_level: int = -1,
    ) -> None:
        """Raise UserError for a ratio outside 0 to 1 or a negative time."""
        super().__init__(Preemption.NONE, level=level)
        self.drop_ratio = dict(drop_ratio or {})
        self.timeout_s = {
            name: after_s for name, after_s in (timeout_s or {}).items() if after_s is not None
        }
        self.budget_s = math.inf if budget_s is None else budget_s
        self.replenish_s_per_s = replenish_s_per_s
        self.sprint_level = sprint_level
        for name, ratio in self.drop_ratio.items():
            if not 0 <= ratio <= 1:
                raise UserError(f"dias: drop_ratio: {name}: {ratio}, expected 0 to 1")
        for name, after_s in self.timeout_s.items():
            if not after_s >= 0:
                raise UserError(f"dias: timeout_s: {name}: {after_s}, expected at least 0")
        if not self.budget_s >= 0 or not replenish_s_per_s >= 0 or math.isinf(replenish_s_per_s):
            raise UserError("dias: budget_s and replenish_s_per_s must be at least 0")


def build(
    facts: PolicyInputs,
    *,
    drop_ratio: Mapping[str, float] | None = None,
    timeout_s: Mapping[str, float | None] | None = None,
    budget_s: float | None = None,
    replenish_s_per_s: float = 0.0,
    budget_j: float | None = None,
    replenish_j_per_h: float = 0.0,
    level: int = 0,
    sprint_level: int = -1,
) -> Dias:
    """Return the policy of a YAML of the kind `dias`.

    `budget_j` and `replenish_j_per_h`, instead of seconds, are of the energy that sprints add: the
    difference in power between both levels. Raises UserError as Dias does, and for a budget in
    both units, or in joules on nodes where sprints do not add power.
    """
    if budget_j is not None:
        if budget_s is not None or replenish_s_per_s:
            raise UserError("dias: budget_j: given in joules and in seconds, expected one of both")
        sprint_w = _sprint_w(facts, level, sprint_level)
        budget_s, replenish_s_per_s = budget_j / sprint_w, replenish_j_per_h / 3600 / sprint_w
    elif replenish_j_per_h:
        raise UserError("dias: replenish_j_per_h: expected a budget_j that it replenishes")
    return Dias(
        drop_ratio=drop_ratio,
        timeout_s=timeout_s,
        budget_s=budget_s,
        replenish_s_per_s=replenish_s_per_s,
        level=level,
        sprint_level=sprint_level,
    )


def _sprint_w(facts: PolicyInputs, level: int, sprint_level: int) -> float:
    """Return the power that a sprint adds to an engine, in watts."""
    types = facts.cluster.node_types
    if len(types) == 1 and sum(facts.cluster.counts) == 1:
        levels = types[0].levels
        added_w = levels[sprint_level].active_w - levels[level].active_w
        if added_w > 0:
            return added_w
    names = ", ".join(node_type.name for node_type in types)
    raise UserError(
        f"dias: budget_j: the cluster has {names}; expected one engine whose sprint level draws "
        "more power than its normal one, or budget_s"
    )
