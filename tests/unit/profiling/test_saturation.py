"""Saturation of what runs used: against all orders of them, and against what is really unseen."""

from itertools import permutations
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.profiling.saturation import saturation_of
from trimtab.records.misses.saturation import Saturation

RUNS = st.lists(st.frozensets(st.integers(0, 12)), min_size=1, max_size=5)


def of(runs: list[frozenset[int]]) -> Saturation:
    found = saturation_of("functions", "run", runs)
    assert found is not None
    return found


@given(RUNS)
def test_the_curve_is_the_mean_over_all_orders(runs: list[frozenset[int]]) -> None:
    expected = [
        mean(len(frozenset().union(*order[: drawn + 1])) for order in permutations(runs))
        for drawn in range(len(runs))
    ]
    found = of(runs)
    assert found.curve == pytest.approx(expected)
    assert found.curve[-1] == pytest.approx(found.seen)


@given(RUNS.filter(lambda runs: len(runs) > 1))
def test_what_a_run_adds_is_what_the_last_one_added_on_average(runs: list[frozenset[int]]) -> None:
    """Good's estimate for the next run is the mean over which of them came last."""
    found = of(runs)
    assert found.next_run == pytest.approx(found.curve[-1] - found.curve[-2])
    assert found.coverage is not None and 0 <= found.coverage <= 1


def test_an_example() -> None:
    """By hand, from the formulas."""
    runs = [frozenset({1, 2, 3, 4}), frozenset({1, 2, 5}), frozenset({1, 6})]
    found = of(runs)
    assert (found.seen, found.once, found.twice) == (6, 4, 1)
    assert found.unseen == pytest.approx(2 / 3 * 4 * 3 / (2 * 2))
    assert found.next_run == pytest.approx(4 / 3)
    assert found.coverage == pytest.approx(1 - 4 / 9 * (2 * 4) / (2 * 4 + 2 * 1))


def test_runs_that_are_alike_leave_nothing_unseen() -> None:
    found = of([frozenset({1, 2})] * 3)
    assert (found.unseen, found.next_run, found.coverage) == (0, 0, 1)


def test_one_run_says_nothing_of_the_next_and_none_nothing_at_all() -> None:
    found = of([frozenset({1, 2})])
    assert found.unseen is found.next_run is found.coverage is None and found.curve == [2]
    assert "tells nothing of the next" in str(found)
    assert saturation_of("files", "run", []) is None


def test_the_bound_is_below_what_is_really_unseen_on_average() -> None:
    """Of 200 items, each used by a run with a probability of its own."""
    numbers, gaps = Random(5), []
    probability = [numbers.random() for _ in range(200)]
    for _ in range(50):
        runs = [
            frozenset(at for at, p in enumerate(probability) if numbers.random() < p)
            for _ in range(4)
        ]
        found = of(runs)
        assert found.unseen is not None
        gaps.append(200 - found.seen - found.unseen)
    assert 0 < mean(gaps) < 30
