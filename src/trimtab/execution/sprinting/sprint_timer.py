"""When a job is sprinted, and for how long: the sprinter of Rocha's thesis, section 4.4.1.

A timer runs for each job that is dispatched. When it fires, the job is sped up until it ends or
the budget is used up; the budget is replenished all the time, up to its full size. A job that the
budget left goes on without sprinting to its end.
"""

from math import inf

from trimtab.errors import UserError


class SprintBudget:
    """Seconds of sprinting that are left; full at the start.

    `replenish_s_per_s`: seconds of sprinting that come back each second (0.1: six minutes an
    hour), also during a sprint. At any time

        remaining = budget + replenished - sprinted + overrun

    where `overrun_s` is sprinting that lasted, for a clock that rang late, beyond the budget, and
    `replenished_s` leaves out what came when the budget was full.

    Raises UserError for a budget or a rate below 0.
    """

    def __init__(self, budget_s: float, replenish_s_per_s: float = 0.0) -> None:
        for name, value in (("budget_s", budget_s), ("replenish_s_per_s", replenish_s_per_s)):
            if not value >= 0:
                raise UserError(f"{name}: {value} is not at least 0")
        self.budget_s, self.replenish_s_per_s = budget_s, replenish_s_per_s
        self.remaining_s = budget_s
        self.replenished_s = self.sprinted_s = self.overrun_s = 0.0

    @property
    def lasts_s(self) -> float:
        """How long a sprint that starts now can last."""
        net_s_per_s = 1.0 - self.replenish_s_per_s
        if net_s_per_s <= 0 and self.remaining_s > 0:
            return inf
        return self.remaining_s / net_s_per_s if self.remaining_s > 0 else 0.0

    def pass_time(self, elapsed_s: float, *, sprinting: bool) -> None:
        """Account for `elapsed_s` seconds, sprinting all along or not at all."""
        used_s = elapsed_s if sprinting else 0.0
        gained_s = elapsed_s * self.replenish_s_per_s
        left_s = self.remaining_s + gained_s - used_s
        lost_s = max(0.0, left_s - self.budget_s) if self.budget_s < inf else 0.0
        over_s = max(0.0, -left_s)
        self.remaining_s = min(max(left_s, 0.0), self.budget_s)
        self.replenished_s += gained_s - lost_s
        self.sprinted_s += used_s
        self.overrun_s += over_s


class SprintTimer:
    """The timer of the job that runs. All times are seconds on one clock that never goes back."""

    def __init__(self, budget: SprintBudget) -> None:
        self.budget = budget
        self.sprinting = False
        self.deadline_s = inf  # when `fire` is to be called
        self._accounted_s = 0.0

    def start(self, now_s: float, timeout_s: float | None) -> None:
        """Take a job that starts now; None: it is never sprinted."""
        self._account(now_s)
        self.deadline_s = inf if timeout_s is None else now_s + timeout_s

    def fire(self, now_s: float) -> None:
        """Begin the sprint, or end it, whichever `deadline_s` was for."""
        self._account(now_s)
        lasts_s = 0.0 if self.sprinting else self.budget.lasts_s
        self.sprinting = lasts_s > 0
        self.deadline_s = now_s + lasts_s if self.sprinting else inf

    def stop(self, now_s: float) -> None:
        """Let go of the job: it has ended or was evicted."""
        self._account(now_s)
        self.sprinting, self.deadline_s = False, inf

    def _account(self, now_s: float) -> None:
        self.budget.pass_time(now_s - self._accounted_s, sprinting=self.sprinting)
        self._accounted_s = now_s
