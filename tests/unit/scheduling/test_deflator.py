"""The deflator's search against formulas worked out by hand, and its limits."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.groups.objective import ClassLimits as Limits
from trimtab.errors import UserError
from trimtab.queueing.phase_type import PhaseType, exponential
from trimtab.scheduling.deflator import (
    EngineClass,
    EnginePower,
    pareto,
    search,
)

POWER = EnginePower(idle_w=50, busy_w=150, sprint_w=250, speed_up=2)


def shrinking(mean_s: float) -> Callable[[float], PhaseType]:
    return lambda drop_ratio: exponential(1 / (mean_s * (1 - drop_ratio)))


HIGH = EngineClass("high", 0.02, shrinking(10))
LOW = EngineClass("low", 0.06, shrinking(10), [(0.0, 0.0), (0.1, 8.0), (0.4, 32.0)])


def test_response_times_are_those_of_cobham_and_energy_that_of_the_busy_time() -> None:
    (choice,) = search([HIGH, LOW], POWER, {"high": Limits(), "low": Limits(drop_ratios=[0.2])})
    residual = 0.02 * 10**2 + 0.06 * 8**2  # second moments halved
    busy_high, busy = 0.2, 0.2 + 0.48
    assert choice.response_mean_s["high"] == pytest.approx(residual / (1 - busy_high) + 10)
    expected = residual / ((1 - busy_high) * (1 - busy)) + 8
    assert choice.response_mean_s["low"] == pytest.approx(expected)
    assert choice.energy_j_per_job == pytest.approx((50 + 100 * busy) / 0.08)
    assert choice.accuracy_loss_pct == {"high": 0.0, "low": pytest.approx(16.0)}
    assert (choice.feasible, choice.pareto, choice.chosen) == (True, True, True)


def test_a_sprint_from_the_start_halves_the_time_and_is_in_the_budget() -> None:
    limits = {"high": Limits(timeouts_s=[None, 0.0]), "low": Limits(drop_ratios=[0.0])}
    slow, fast = search([HIGH, LOW], POWER, limits, sprint_share=0.1)
    assert fast.sprint_share == pytest.approx(0.02 * 5)
    assert slow.sprint_share == 0
    assert fast.energy_j_per_job == pytest.approx((50 + 100 * 0.6 + 200 * 0.1) / 0.08)
    assert fast.chosen and fast.response_mean_s["high"] < slow.response_mean_s["high"]
    _, refused = search([HIGH, LOW], POWER, limits, sprint_share=0.0999)
    assert not refused.feasible


def test_limits_of_accuracy_and_latency_leave_out_what_breaks_them() -> None:
    ratios = [0.0, 0.1, 0.2, 0.4]
    limits = {"high": Limits(), "low": Limits(drop_ratios=ratios, accuracy_loss_pct=16.0)}
    assert [one.feasible for one in search([HIGH, LOW], POWER, limits)] == [True, True, True, False]
    (least,) = [one for one in search([HIGH, LOW], POWER, limits) if one.chosen]
    assert least.drop_ratio["low"] == 0.2
    mean_s = search([HIGH, LOW], POWER, limits)[1].response_mean_s["low"]
    strict = {"high": Limits(), "low": Limits(drop_ratios=ratios, response_mean_s=mean_s)}
    assert [one.feasible for one in search([HIGH, LOW], POWER, strict)] == [False, True, True, True]


def test_what_is_unstable_is_left_out() -> None:
    crowded = EngineClass("low", 0.1, shrinking(10), LOW.accuracy_loss)
    found = search(
        [HIGH, crowded], POWER, {"high": Limits(), "low": Limits(drop_ratios=[0.0, 0.1, 0.4])}
    )
    assert [one.drop_ratio["low"] for one in found] == [0.4]


def test_a_drop_ratio_of_unknown_loss_and_a_class_without_limits_are_errors() -> None:
    with pytest.raises(UserError, match=r"class high: accuracy_loss.* 0\.1"):
        search([HIGH], POWER, {"high": Limits(drop_ratios=[0.1])})
    with pytest.raises(UserError, match="limits of low"):
        search([HIGH, LOW], POWER, {"high": Limits()})


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12))
def test_the_front_is_what_no_other_point_dominates(points: list[tuple[int, ...]]) -> None:
    kept = pareto(points)
    for (at, point), (_, other) in itertools.product(enumerate(points), enumerate(points)):
        if all(np.less_equal(other, point)) and other != point:
            assert not kept[at]
    assert any(kept)
