"""The timer of a sprint, on its budget."""

from math import inf

from trimtab.execution.job_queue import SprintTimer
from trimtab.policies.sprint_budget import SprintBudget


def test_timer_then_budget() -> None:
    timer = SprintTimer(SprintBudget(10.0))
    timer.start(100.0, 65.0)
    assert (timer.deadline_s, timer.sprinting) == (165.0, False)
    timer.fire(165.0)
    assert (timer.deadline_s, timer.sprinting) == (175.0, True)
    timer.stop(171.0)  # it ended 6 s later
    assert (timer.deadline_s, timer.sprinting) == (inf, False)
    timer.start(171.0, 0.0)
    timer.fire(171.0)
    assert timer.deadline_s == 175.0
    timer.fire(175.0)  # the budget is used up, and the job goes on
    assert (timer.deadline_s, timer.sprinting) == (inf, False)
    timer.stop(500.0)
    timer.start(500.0, None)
    assert timer.deadline_s == inf
    assert timer.budget.left_s == 0.0


def test_an_empty_budget_starts_no_sprint() -> None:
    timer = SprintTimer(SprintBudget(0.0, 0.5))
    timer.start(0.0, 1.0)
    timer.fire(1.0)
    assert (timer.sprinting, timer.deadline_s) == (False, inf)
