"""The sprint budget against a slow exact account of the same time."""

from fractions import Fraction
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import UserError
from trimtab.policies.sprint_budget import SprintBudget

SECONDS = st.floats(0, 1e4).map(lambda value: round(value, 3))
RATE = st.floats(0, 2).map(lambda value: round(value, 3))


def exact(budget: Fraction, rate: Fraction, steps: list[tuple[float, int]]) -> Fraction:
    """Return what is left, in exact arithmetic; linear in each step, with the step's kinks."""
    left = budget
    for elapsed_s, sprinters in steps:
        left += Fraction(elapsed_s) * (rate - sprinters)
        left = min(max(left, Fraction(0)), budget)
    return left


@given(SECONDS, RATE, st.lists(st.tuples(SECONDS, st.integers(0, 3)), max_size=30))
def test_the_budget_adds_up(budget_s: float, rate: float, steps: list[tuple[float, int]]) -> None:
    budget = SprintBudget(budget_s, rate)
    now_s = 0.0
    for elapsed_s, sprinters in steps:
        now_s += elapsed_s
        budget.settle(now_s, sprinters)
        assert 0 <= budget.left_s <= budget_s
    expected = exact(Fraction(budget_s), Fraction(rate), steps)
    assert budget.left_s == pytest.approx(float(expected), abs=1e-6)


@given(st.floats(0.001, 1e4), st.floats(0, 0.99), st.integers(1, 3))
def test_sprints_until_it_is_foreseen_to_be_empty_leave_nothing_and_shorter_ones_some(
    budget_s: float, rate: float, sprinters: int
) -> None:
    budget = SprintBudget(budget_s, rate)
    budget.foresee_empty(0.0, sprinters)
    moments_s = [0.0, 0.9 * budget.empty_s, budget.empty_s]
    left_s = []
    for before_s, now_s in pairwise(moments_s):
        assert before_s < now_s
        budget.settle(now_s, sprinters)
        left_s.append(budget.left_s)
    assert left_s == pytest.approx([0.1 * budget_s, 0], abs=1e-8 * budget_s)


def test_six_minutes_an_hour() -> None:
    """The thesis' example of a replenishing rate."""
    budget = SprintBudget(360.0, 360 / 3600)
    budget.foresee_empty(0.0, 1)
    assert budget.empty_s == pytest.approx(400.0)  # 360 s, and what comes back meanwhile
    budget.settle(400.0, 1)
    budget.settle(4000.0, 0)
    assert budget.left_s == pytest.approx(360.0)
    budget.settle(7600.0, 0)
    assert budget.left_s == 360.0


@pytest.mark.parametrize(("budget_s", "rate"), [(inf, 0.0), (inf, 0.1), (1.0, 1.0)])
def test_no_end_of_it(budget_s: float, rate: float) -> None:
    budget = SprintBudget(budget_s, rate)
    budget.foresee_empty(0.0, 1)
    assert budget.empty_s == inf
    budget.settle(1e6, 1)
    assert budget.left_s == budget_s


@pytest.mark.parametrize("wrong", [(-1.0, 0.0), (1.0, -0.1), (float("nan"), 0.0)])
def test_what_cannot_be_a_budget(wrong: tuple[float, float]) -> None:
    with pytest.raises(UserError, match="is not at least 0"):
        SprintBudget(*wrong)
