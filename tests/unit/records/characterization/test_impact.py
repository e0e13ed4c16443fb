"""Impacts of parameters on responses that are known, and what is said where too little is."""

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from characterized_runs import failed, measured, run, table
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.records.characterization.impact import Impact, MedianChange, impacts, without_impact
from trimtab.records.characterization.settings import kinds_of

ONE_AT_A_TIME = [{}, {"executors": 2}, {"shuffle_compress": False}, {"depth": 9}]
FEW = settings(max_examples=8)  # each bootstraps a dozen intervals
NOISE = (1.0, 1.004, 0.997, 1.002, 0.999)


def scaled(factor: float, of: str = "executors", metric: str = "train_s") -> Any:
    """A response of which one parameter's other level has `factor` times the metric."""

    def response(setting: Mapping[str, Any], repeat: int) -> dict[str, float]:
        first = NOISE[repeat] if metric == "train_s" else 1.0
        return {metric: 0.8 * first * (factor if of in setting else 1.0)}

    return response


def by_name(rows: list[dict[str, Any]], metric: str = "train_s") -> dict[str, Impact]:
    return {one.parameter: one for one in impacts(table(rows)) if one.metric == metric}


@FEW
@given(st.floats(0.05, 20))
def test_a_level_that_scales_a_metric_has_that_impact(factor: float) -> None:
    found = by_name(measured(ONE_AT_A_TIME, scaled(factor)))["executors"]
    [change] = found.changes
    assert change.change_pct == pytest.approx(100 * (factor - 1), abs=1e-6)
    assert change.low_pct is not None and change.high_pct is not None
    assert change.low_pct <= change.change_pct <= change.high_pct
    assert (found.kind, found.workload, change.level) == ("platform", "wine_DT", "2")


@pytest.mark.parametrize(
    ("factor", "word"),
    [(1.5, "high"), (0.5, "high"), (1.15, "medium"), (0.85, "medium"), (1.05, "low"), (1, "none")],
)
def test_the_published_limits_of_times(factor: float, word: str) -> None:
    found = by_name(measured(ONE_AT_A_TIME, scaled(factor), repeats=5))
    assert {name: one.word for name, one in found.items()} == {
        "executors": word, "shuffle_compress": "none", "depth": "none"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "word"), [(0.9, "high"), (1.03, "medium"), (1.005, "low"), (1, "none")]
)
def test_the_published_limits_of_quality(factor: float, word: str) -> None:
    found = by_name(measured(ONE_AT_A_TIME, scaled(factor, "depth", "quality")), "quality")
    assert (found["depth"].word, found["depth"].kind) == (word, "hyper")


def test_an_interval_that_spans_a_limit_shows_nothing() -> None:
    def response(setting: Mapping[str, Any], repeat: int) -> dict[str, float]:
        return {"train_s": (1.05, 1.2, 1.4)[repeat] if setting else 1.0}

    change = by_name(measured(ONE_AT_A_TIME, response))["executors"].changes[0]
    assert (change.low_pct, change.high_pct) == (pytest.approx(5), pytest.approx(40))
    assert by_name(measured(ONE_AT_A_TIME, response))["executors"].word == "not shown"


def test_noise_is_no_change_but_may_hide_a_large_one() -> None:
    """Spans zero, and 10 %: neither a change nor its absence is shown."""
    noisy = (0.8, 1.0, 1.25)
    found = by_name(measured(ONE_AT_A_TIME, lambda _, repeat: {"train_s": noisy[repeat]}))
    assert {one.word for one in found.values()} == {"not shown"}


def test_of_several_levels_the_largest_counts() -> None:
    levels = [{}, {"executors": 2}, {"executors": 3}, {"executors": 4}]
    seconds = {1: 1.0, 2: 1.02, 3: 0.6, 4: 1.1}
    rows = measured(levels, lambda s, _: {"train_s": seconds[s.get("executors", 1)]})
    found = by_name(rows)["executors"]
    assert len(found.changes) == 3 and found.word == "high"
    assert found.largest is not None and found.largest.change_pct == pytest.approx(-40)


@FEW
@given(st.randoms(use_true_random=False), st.integers(3, 5))
def test_the_order_of_runs_is_no_matter(shuffled: random.Random, repeats: int) -> None:
    rows = measured(ONE_AT_A_TIME, scaled(1.3), repeats)
    again = [row | {"repeat": shuffled.randrange(99)} for row in rows]
    shuffled.shuffle(again)
    assert by_name(rows) == by_name(again)


@FEW
@given(st.floats(1e-3, 1e3))
def test_the_unit_is_no_matter(unit: float) -> None:
    def of(scale: float) -> list[str]:
        response = scaled(1.3)
        rows = measured(ONE_AT_A_TIME, lambda s, r: {"train_s": scale * response(s, r)["train_s"]})
        return [one.word for one in by_name(rows).values()]

    assert of(1) == of(unit)


def test_quality_below_zero_gets_better_upwards() -> None:
    rows = measured(ONE_AT_A_TIME, lambda s, _: {"quality": -0.1 if "depth" in s else -0.2})
    [change] = by_name(rows, "quality")["depth"].changes
    assert change.change_pct == pytest.approx(50)


@pytest.mark.parametrize("repeats", [1, 2])
def test_few_repeats_show_nothing(repeats: int) -> None:
    found = by_name(measured(ONE_AT_A_TIME, scaled(3), repeats))["executors"]
    assert found.changes == (MedianChange("2", pytest.approx(200), None, None),)
    assert found.word == "not shown"
    assert without_impact(table(measured(ONE_AT_A_TIME, scaled(3), repeats))) == []


def test_runs_that_failed_are_passed_over() -> None:
    rows = measured(ONE_AT_A_TIME, scaled(1.5))
    beside = [*rows, failed({"executors": 4}), failed({}, 3), failed({"depth": 9}, 3)]
    assert by_name(rows)["executors"].changes == by_name(beside)["executors"].changes


def test_nothing_to_compare_with() -> None:
    for rows in (
        [failed(setting, repeat) for setting in ONE_AT_A_TIME for repeat in range(3)],
        [run({"executors": 2}, repeat) for repeat in range(3)],  # no defaults
        measured(ONE_AT_A_TIME, lambda s, _: {"train_s": 0.0, "quality": 0.0}),
        measured(ONE_AT_A_TIME, lambda s, _: {"train_s": None, "quality": float("nan")}),
    ):
        for metric in ("train_s", "quality"):
            assert {one.word for one in by_name(rows, metric).values()} == {"not shown"}
        assert without_impact(table(rows)) == []


def test_no_runs_and_no_levels() -> None:
    assert impacts(table([])) == []
    assert impacts(table([run({}, repeat) for repeat in range(3)])) == []


def test_sums_in_another_order_are_no_change() -> None:
    rows = measured(ONE_AT_A_TIME, lambda s, _: {"quality": 0.1 + 0.2 if "depth" in s else 0.3})
    assert by_name(rows, "quality")["depth"].word == "none"


def test_numbers_near_the_largest() -> None:
    rows = measured(ONE_AT_A_TIME, lambda s, r: {"train_s": 1.7e308 if s else 1e-300})
    assert by_name(rows)["executors"].word == "not shown"


def test_what_is_left_out_of_a_space() -> None:
    rows = measured(ONE_AT_A_TIME, scaled(1.5))
    assert without_impact(table(rows)) == ["shuffle_compress", "depth"]
    other = measured(ONE_AT_A_TIME, scaled(0.9, "depth", "quality"), workload="iris_DT")
    assert without_impact(table([*rows, *other])) == ["shuffle_compress"]


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"executors": {}}', "[" * 100_000, json.dumps({"depth": 5})]
)
def test_settings_that_are_none(text: str) -> None:
    row = run({"executors": 2}) | {"settings": text}
    with pytest.raises(TrimtabError, match="settings of a run of wine_DT, repeat 0: "):
        impacts(table([row]))


def test_a_name_of_both_kinds() -> None:
    rows = [run({"depth": 9}), run({"depth": 9}) | {"phase": "platform"}]
    with pytest.raises(TrimtabError, match="parameter depth: varied as"):
        kinds_of(table(rows))
    assert kinds_of(table(measured(ONE_AT_A_TIME, scaled(2)))) == {
        "executors": "platform", "shuffle_compress": "platform", "depth": "hyper"
    }  # fmt: skip
