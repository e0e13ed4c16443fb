"""The sprint budget of the plain simulator; engine.budget is the kernel's."""

import math
from dataclasses import dataclass

from trimtab.clusters.layout import never
from trimtab.policies.base import Policy
from trimtab.policies.dias import Dias


@dataclass
class SimulatedSprintBudget:
    """Seconds of one job's sprinting, `left_s` at `at_s`, which come back over time.

    `empty_s` is when nothing of them will be left, if nothing changes before.
    """

    full_s: float
    replenish_s_per_s: float
    left_s: float
    at_s: float = 0.0
    empty_s: float = never

    @classmethod
    def of(cls, policy: Policy) -> "SimulatedSprintBudget":
        """Return the budget of a policy, full; without end where the policy has none."""
        if isinstance(policy, Dias):
            return cls(policy.budget_s, policy.replenish_s_per_s, policy.budget_s)
        return cls(math.inf, 0.0, math.inf)

    def settle(self, now_s: float, sprinters: int) -> None:
        """Bring it up to date; before the number of sprinters changes."""
        left_s = self.left_s + (self.replenish_s_per_s - sprinters) * (now_s - self.at_s)
        self.left_s = min(self.full_s, max(0.0, left_s))
        self.at_s = now_s

    def foresee_empty(self, now_s: float, sprinters: int) -> None:
        """Find when it will be empty; after the number of sprinters changed."""
        drain = sprinters - self.replenish_s_per_s
        self.empty_s = now_s + self.left_s / drain if drain > 0 else never
