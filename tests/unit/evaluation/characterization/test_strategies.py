"""Strategies at equal budget, on responses of which the best configurations are known."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from characterized_runs import failed, measured, run, table
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.evaluation.characterization.strategies import StrategyComparison, compare

PLATFORM = [{"executors": 2}, {"shuffle_compress": False}]
HYPER = [{"depth": 2}, {"depth": 9}]
JOINT = [{**one, **other} for one, other in product(PLATFORM, HYPER)]
EVERY = [{}, *PLATFORM, *HYPER, *JOINT]


def factors(setting: Mapping[str, Any], repeat: int) -> dict[str, float]:
    """Each level has a factor of its own: 0.8 at best on one level, 0.8 * 0.5 on both."""
    train_s = 10.0 * (1 + 0.001 * repeat)
    train_s *= 0.8 if setting.get("executors") == 2 else 1
    train_s *= {2: 0.5, 5: 1, 6: 1.2, 7: 1.4, 9: 2}[setting.get("depth", 5)]
    return {"train_s": train_s, "quality": 0.9, "inference_records_per_s": 1000 / train_s}


def compared(rows: list[dict[str, Any]], metric: str = "train_s") -> StrategyComparison:
    comparison = compare(table(rows), metric)
    assert comparison is not None
    return comparison


def test_the_better_single_level_and_what_both_find() -> None:
    """The two single levels have two configurations each, so that of the joint four two count."""
    found = compared(measured(EVERY, factors))
    assert (found.budget, found.single) == (2, "hyper")
    assert found.finds["platform"].median == pytest.approx(8.0, rel=0.01)
    assert found.finds["hyper"].median == pytest.approx(5.0, rel=0.01)
    # Of two drawn of 4, 5, 16 and 20 s, each pair as likely: the best is 4 s in three of six.
    assert found.finds["joint"].low == pytest.approx(4.0, rel=0.01)
    assert found.finds["joint"].high == pytest.approx(10.0, rel=0.01)  # the defaults


def test_more_budget_finds_the_best_of_both() -> None:
    levels = [{"depth": depth} for depth in (2, 6, 7, 9)]
    platform = [{"executors": n} for n in (2, 3, 4, 5)]
    found = compared(measured([{}, *platform, *levels, *JOINT], factors))
    assert (found.budget, found.single, found.verdict) == (4, "hyper", "better")
    assert found.finds["joint"].median == pytest.approx(4.0, rel=0.01)
    assert found.change_pct.median == pytest.approx(-20, abs=0.5)
    throughput = compared(
        measured([{}, *platform, *levels, *JOINT], factors), "inference_records_per_s"
    )
    assert throughput.change_pct.median == pytest.approx(25, abs=0.5)
    assert throughput.verdict == "better" and throughput.is_reached


def test_a_level_without_more_to_try_does_not_limit_the_others() -> None:
    """One parameter of two levels has one configuration: it is all that platform tuning needs."""
    depths = [{"depth": depth} for depth in (2, 6, 7, 9)]
    cores = [{"executors": 2}]
    both = [{**one, **other} for one, other in product(cores, depths)]
    found = compared(measured([{}, *cores, *depths, *both], factors))
    assert found.budget == 4
    assert found.finds["platform"].median == pytest.approx(8.0, rel=0.01)
    assert found.finds["joint"].low == pytest.approx(4.0, rel=0.01)
    assert found.verdict == "better"


def test_equal_and_worse() -> None:
    assert compared(measured(EVERY, factors), "quality").verdict == "equal"

    def spoiled(setting: Mapping[str, Any], repeat: int) -> dict[str, float]:
        both = "depth" in setting and len(setting) == 2
        return {"quality": 0.5 if both else 0.9 if setting else 0.4}

    worse = compared(measured(EVERY, spoiled), "quality")
    assert (worse.verdict, worse.is_reached) == ("worse", False)
    assert worse.change_pct.median == pytest.approx(100 * (0.5 / 0.9 - 1))


def test_sums_in_another_order_are_equal() -> None:
    both = {"quality": 0.3}
    rows = measured(EVERY, lambda s, _: both if len(s) == 2 else {"quality": 0.1 + 0.2})
    assert compared(rows, "quality").verdict == "equal"


def test_only_what_is_varied_together_counts() -> None:
    """Else a single level would spend its budget on parameters that joint tuning leaves alone."""
    alone = [{"iterations": iterations} for iterations in (10, 40, 80)]
    best = {"train_s": 1e-3}
    rows = measured(EVERY, factors) + measured(alone, lambda *_: best)
    assert compared(rows) == compared(measured(EVERY, factors))


@settings(max_examples=10)
@given(st.floats(1e-3, 1e3))
def test_the_unit_is_no_matter(unit: float) -> None:
    rows = measured(EVERY, factors)
    scaled = [row | {"train_s": unit * row["train_s"]} for row in rows]
    assert compared(scaled).change_pct.median == pytest.approx(compared(rows).change_pct.median)
    assert compared(scaled).verdict == compared(rows).verdict


def test_what_failed_was_tried_all_the_same() -> None:
    rows = [row for row in measured(EVERY, factors) if row["phase"] != "platform"]
    rows += [failed(setting, repeat) for setting in PLATFORM for repeat in range(3)]
    found = compared(rows)
    assert found.budget == 2
    assert found.finds["platform"].median == pytest.approx(10.0, rel=0.01)  # the defaults


def test_too_few_repeats_show_nothing() -> None:
    assert compared(measured(EVERY, factors, repeats=2)).verdict == "not shown"


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [run({})],
        measured([{}, *PLATFORM, *HYPER], factors),  # no joint one
        measured([*PLATFORM, *HYPER, *JOINT], factors),  # no defaults
        [failed(setting) for setting in EVERY],
        measured(EVERY, lambda setting, repeat: {"train_s": 0.0}),
        measured(EVERY, lambda setting, repeat: {"train_s": None}),
    ],
    ids=["none", "one", "no joint", "no defaults", "all failed", "zero", "null"],
)
def test_nothing_to_compare(rows: list[dict[str, Any]]) -> None:
    assert compare(table(rows), "train_s") is None
