"""The sprint budget of simulated and real jobs; simulation.kernel.running has the kernel's."""

from math import inf

from trimtab.errors import UserError


class SprintBudget:
    """A budget in seconds of one job's sprinting: `left_s` at `at_s`; `full_s` at time 0.

    `replenish_s_per_s` is added every second (0.1: six minutes an hour), also during sprints, until
    it is full. `empty_s` is when it will be empty, if nothing changes before.

    Raises UserError for a budget or a rate below 0.
    """

    def __init__(self, full_s: float, replenish_s_per_s: float = 0.0) -> None:
        for name, value in (("budget_s", full_s), ("replenish_s_per_s", replenish_s_per_s)):
            if not value >= 0:
                raise UserError(f"{name}: {value} is not at least 0")
        self.full_s, self.replenish_s_per_s = full_s, replenish_s_per_s
        self.left_s, self.at_s, self.empty_s = full_s, 0.0, inf

    def settle(self, now_s: float, sprinters: int) -> None:
        """Update the budget, before the number of sprinters changes."""
        left_s = self.left_s + (self.replenish_s_per_s - sprinters) * (now_s - self.at_s)
        self.left_s = min(self.full_s, max(0.0, left_s))
        self.at_s = now_s

    def foresee_empty(self, now_s: float, sprinters: int) -> None:
        """Compute when it will be empty, after the number of sprinters changed."""
        drain = sprinters - self.replenish_s_per_s
        self.empty_s = now_s + self.left_s / drain if drain > 0 else inf
