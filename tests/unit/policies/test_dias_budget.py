"""Sprint budgets of DiAS in joules, and what is refused of them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.errors import UserError
from trimtab.policies.dias import Dias
from trimtab.policies.facts import Asked, PolicyInputs
from trimtab.policies.registry import build_policy

ENGINE = NodeType("engine", 20_000, 8, 90.0, (Level(1.0, 90.0), Level(2.5, 180.0)))


def build(nodes: tuple[NodeType, ...] = (ENGINE,), count: int = 1, **parameters: Any) -> Dias:
    cluster = Cluster(nodes, (count,) * len(nodes))
    facts = PolicyInputs(cluster, [JobClass("high")], [Asked(20.0, 1.0, 1.0)])
    built = build_policy("dias", parameters, facts)
    assert isinstance(built, Dias)
    return built


def test_22_kj_an_hour_are_four_minutes_of_sprinting() -> None:
    policy = build(timeout_s={"high": 65}, budget_j=22_000, replenish_j_per_h=22_000)
    assert policy.budget_s == pytest.approx(22_000 / 90)
    assert policy.replenish_s_per_s * 3600 == pytest.approx(policy.budget_s)
    assert policy.timeout_s == {"high": 65}


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0.1, 1e4))
def test_joules_are_seconds_times_the_added_power(
    budget_j: float, per_hour_j: float, added_w: float
) -> None:
    levels = (Level(1.0, 50.0), Level(1.5, 70.0), Level(2.0, 50.0 + added_w))
    node = replace(ENGINE, levels=levels)
    policy = build((node,), budget_j=budget_j, replenish_j_per_h=per_hour_j)
    added_w = levels[-1].active_w - levels[0].active_w
    assert policy.budget_s * added_w == pytest.approx(budget_j)
    assert policy.replenish_s_per_s * 3600 * added_w == pytest.approx(per_hour_j)


def test_without_a_budget_sprints_are_unlimited() -> None:
    assert build(timeout_s={"high": 0}).budget_s == float("inf")
    assert build(budget_j=0).budget_s == 0.0


FLAT = replace(ENGINE, name="flat", levels=(Level(1.0, 90.0),))


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"budget_j": 1, "budget_s": 1}, "joules and in seconds"),
        ({"budget_j": 1, "replenish_s_per_s": 0.1}, "joules and in seconds"),
        ({"replenish_j_per_h": 1}, "replenish_j_per_h: expected a budget_j"),
        ({"budget_j": -1}, "must be at least 0"),
        ({"budget_j": 1, "replenish_j_per_h": -1}, "must be at least 0"),
        ({"budget_j": float("nan")}, "must be at least 0"),
        ({"budget_j": 1, "nodes": (FLAT,)}, "flat; expected one engine"),
        ({"budget_j": 1, "nodes": (ENGINE, FLAT)}, "engine, flat; expected one engine"),
        ({"budget_j": 1, "count": 2}, "engine; expected one engine"),
        ({"budget_kj": 1}, "budget_kj given; the keys of dias are: .*budget_j"),
    ],
)
def test_what_is_no_budget_is_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(**given_)
