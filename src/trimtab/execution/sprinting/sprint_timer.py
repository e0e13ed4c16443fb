"""When a job is sprinted, and for how long: the sprinter of Rocha's thesis, section 4.4.1.

A timer runs for each job that is dispatched. When it fires, the job is sped up until it ends or
the budget is used up; the budget is replenished all the time, up to its full size. A job that the
budget left goes on without sprinting to its end.
"""

from math import inf

from trimtab.policies.sprint_budget import SprintBudget


class SprintTimer:
    """The timer of the job that runs. All times are seconds on one clock that never goes back."""

    def __init__(self, budget: SprintBudget) -> None:
        self.budget = budget
        self.sprinting = False
        self.deadline_s = inf  # when `fire` is to be called

    def start(self, now_s: float, timeout_s: float | None) -> None:
        """Take a job that starts now; None: it is never sprinted."""
        self._account(now_s)
        self.deadline_s = inf if timeout_s is None else now_s + timeout_s

    def fire(self, now_s: float) -> None:
        """Begin the sprint, or end it, whichever `deadline_s` was for."""
        self._account(now_s)
        self.sprinting = not self.sprinting and self.budget.left_s > 0
        self.budget.foresee_empty(now_s, int(self.sprinting))
        self.deadline_s = self.budget.empty_s if self.sprinting else inf

    def stop(self, now_s: float) -> None:
        """Let go of the job: it has ended or was evicted."""
        self._account(now_s)
        self.sprinting, self.deadline_s = False, inf

    def _account(self, now_s: float) -> None:
        self.budget.settle(now_s, int(self.sprinting))
