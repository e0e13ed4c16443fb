"""The sprint budget against a slow exact account of the same time, and the timer on it."""

from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import UserError
from trimtab.execution.sprinting.sprint_timer import SprintBudget, SprintTimer

SECONDS = st.floats(0, 1e4).map(lambda value: round(value, 3))
RATE = st.floats(0, 2).map(lambda value: round(value, 3))


def exact(budget: Fraction, rate: Fraction, steps: list[tuple[float, bool]]) -> Fraction:
    """Return what remains, in exact arithmetic; linear in each step, with the step's kinks."""
    left = budget
    for elapsed_s, sprinting in steps:
        left += Fraction(elapsed_s) * (rate - (1 if sprinting else 0))
        left = min(max(left, Fraction(0)), budget)
    return left


@given(SECONDS, RATE, st.lists(st.tuples(SECONDS, st.booleans()), max_size=30))
def test_the_budget_adds_up(budget_s: float, rate: float, steps: list[tuple[float, bool]]) -> None:
    budget = SprintBudget(budget_s, rate)
    for elapsed_s, sprinting in steps:
        lasts_s = budget.lasts_s
        over_before_s = budget.overrun_s
        budget.pass_time(elapsed_s, sprinting=sprinting)
        assert 0 <= budget.remaining_s <= budget_s
        if sprinting and elapsed_s < lasts_s * (1 - 1e-9):
            assert budget.overrun_s == pytest.approx(over_before_s, abs=1e-6)
    kept = budget_s + budget.replenished_s - budget.sprinted_s + budget.overrun_s
    assert budget.remaining_s == pytest.approx(kept, abs=1e-6)
    expected = exact(Fraction(budget_s), Fraction(rate), steps)
    assert budget.remaining_s == pytest.approx(float(expected), abs=1e-6)
    assert budget.sprinted_s == pytest.approx(sum(s for s, on in steps if on), abs=1e-6)


@given(st.floats(0.001, 1e4), st.floats(0, 0.99))
def test_a_sprint_of_the_length_that_it_lasts_empties_the_budget(
    budget_s: float, rate: float
) -> None:
    budget = SprintBudget(budget_s, rate)
    budget.pass_time(budget.lasts_s, sprinting=True)
    assert budget.remaining_s == pytest.approx(0, abs=1e-8 * budget_s)
    assert budget.overrun_s == pytest.approx(0, abs=1e-8 * budget_s)


def test_six_minutes_an_hour() -> None:
    """The thesis' example of a replenishing rate."""
    budget = SprintBudget(360.0, 360 / 3600)
    assert budget.lasts_s == pytest.approx(400.0)  # 360 s, and what comes back meanwhile
    budget.pass_time(400.0, sprinting=True)
    budget.pass_time(3600.0, sprinting=False)
    assert budget.remaining_s == pytest.approx(360.0)
    budget.pass_time(3600.0, sprinting=False)
    assert budget.remaining_s == 360.0


def test_no_end_of_it() -> None:
    assert SprintBudget(inf).lasts_s == inf
    assert SprintBudget(1.0, 1.0).lasts_s == inf
    assert SprintBudget(0.0, 2.0).lasts_s == 0.0
    unlimited = SprintBudget(inf, 0.1)
    unlimited.pass_time(1e6, sprinting=True)
    assert unlimited.remaining_s == inf


@pytest.mark.parametrize("wrong", [(-1.0, 0.0), (1.0, -0.1), (float("nan"), 0.0)])
def test_what_cannot_be_a_budget(wrong: tuple[float, float]) -> None:
    with pytest.raises(UserError, match="is not at least 0"):
        SprintBudget(*wrong)


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
    assert timer.budget.sprinted_s == 10.0


def test_an_empty_budget_starts_no_sprint() -> None:
    timer = SprintTimer(SprintBudget(0.0, 0.5))
    timer.start(0.0, 1.0)
    timer.fire(1.0)
    assert (timer.sprinting, timer.deadline_s) == (False, inf)
