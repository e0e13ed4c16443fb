"""Spaces: every configuration is inside its ranges, with its conditions, and not forbidden."""

import itertools
import random
from collections.abc import Mapping
from typing import Any

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spaces import COUNTABLE, SMALL, choices, spaces, tuning

from trimtab.config.fields import MistakeError
from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.tuning.space import SearchSpace, suggested


def wrong_with(keys: Mapping[str, Any], configuration: Mapping[str, Any], kinds: set[str]) -> str:
    """What is wrong with a configuration by the YAML alone: a second, plain implementation."""
    parameters = {
        f"{kind}.{name}": parameter
        for kind in ("model", "training", "system", "inference")
        for name, parameter in keys.get(kind, {}).items()
    }
    complete = {
        name: parameter["default"]
        for name, parameter in parameters.items()
        if name.partition(".")[0] not in kinds
    } | dict(configuration)
    there = set(parameters)
    while True:  # until nothing more turns out not to be there
        left = {
            name
            for name in there
            if all(
                other in there and complete.get(other) in values
                for other, values in parameters[name].get("when", {}).items()
            )
        }
        if left == there:
            break
        there = left
    expected = {name for name in there if name.partition(".")[0] in kinds}
    if set(configuration) != expected:
        return f"{sorted(configuration)} are there, expected {sorted(expected)}"
    for name, value in configuration.items():
        parameter = parameters[name]
        if "choices" in parameter:
            inside = value in parameter["choices"]
        else:
            inside = parameter["low"] <= value <= parameter["high"]
            inside &= type(value) is (int if parameter.get("whole") else float)
        if not inside:
            return f"{name} is {value!r}"
    for values in keys.get("forbidden", []):
        if all(name in there and complete[name] == value for name, value in values.items()):
            return f"{values} is forbidden"
    return ""


def drawn(space: SearchSpace, seed: int) -> dict[str, Any]:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    trial = study.ask()
    return space.configuration(
        lambda name: suggested(trial, name, space.distributions[name]), fixed={}
    )


@given(spaces(), st.integers(0, 1 << 32 - 1), st.sets(st.sampled_from(list(Kind)), min_size=1))
@settings(max_examples=100)
def test_what_is_drawn_is_a_configuration_of_the_yaml(
    keys: dict[str, Any], seed: int, kinds: set[Kind]
) -> None:
    space = SearchSpace(tuning(**keys), kinds)
    configuration = drawn(space, seed)
    wrong = wrong_with(keys, configuration, set(kinds))
    assert not wrong or wrong.endswith("forbidden")
    assert space.allows(configuration) == (not wrong)


@given(spaces(countable=True), st.sets(st.sampled_from(list(Kind)), min_size=1))
@settings(max_examples=60)
def test_the_list_is_all_that_is_allowed(keys: dict[str, Any], kinds: set[Kind]) -> None:
    space = SearchSpace(tuning(**keys), kinds)
    listed = list(itertools.islice(space.listed({}), 2_000))
    assert all(not wrong_with(keys, one, set(kinds)) for one in listed)
    found = {tuple(sorted(one.items())) for one in listed}
    assert len(found) == len(listed)
    if len(listed) < 2_000:
        some = (drawn(space, seed) for seed in range(10))
        assert {tuple(sorted(one.items())) for one in some if space.allows(one)} <= found


def test_the_list_of_a_small_space_written_out() -> None:
    space = SearchSpace(tuning(**COUNTABLE), list(Kind))
    expected = [{"model.layers": 1, "system.cores": cores} for cores in (1, 2, 3)]
    for layers in (2, 3):
        thin = {"model.layers": layers, "model.width": "thin"}
        expected += [{**thin, "system.cores": cores} for cores in (1, 2, 3)]
    expected += [
        {"model.layers": 2, "model.width": "wide", "system.cores": cores} for cores in (2, 3)
    ]
    expected += [
        {"model.layers": 3, "model.width": "wide", "model.skip": False, "system.cores": cores}
        for cores in (2, 3)
    ]
    listed = list(space.listed({}))
    assert len(listed) == len(expected)
    assert all(one in listed for one in expected)


def test_what_is_fixed_keeps_its_value_and_what_is_not_searched_its_default() -> None:
    space = SearchSpace(tuning(**SMALL), [Kind.SYSTEM])
    assert list(space.listed({})) == [{"system.cores": cores} for cores in (1, 2, 3, 4)]
    beside = {"training.batch_size": 128}
    assert list(space.listed(beside)) == [{**beside, "system.cores": n} for n in (2, 3, 4)]
    assert not space.allows({**beside, "system.cores": 1})
    fixed = {"model.dropout": 0.5, "model.layers": 1}  # with one layer there is no dropout
    assert {"model.layers": 1, "system.cores": 2} in space.listed(fixed)


@pytest.mark.parametrize(
    ("fixed", "said"),
    [
        ({"training.batchsize": 1}, "did you mean training.batch_size"),
        ({"training.batch_size": 33}, "33 given, expected one of 32, 64, 128"),
        ({"system.cores": 5}, "expected a whole number from 1 to 4"),
        ({"system.cores": True}, "expected a whole number"),
        ({"model.dropout": float("nan")}, "expected a number from 0 to 0.5"),
    ],
)
def test_a_fixed_value_that_is_none(fixed: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        SearchSpace(tuning(**SMALL)).check(fixed)


def test_kinds_without_a_parameter() -> None:
    with pytest.raises(UserError, match="no parameter of the kind inference; there are: model"):
        SearchSpace(tuning(**SMALL)).of([Kind.INFERENCE])


def test_a_space_that_forbids_everything_is_refused() -> None:
    every = [{"training.a": one} for one in (1, 2)]
    with pytest.raises(MistakeError, match=r"forbidden\[0\]: the defaults have these values"):
        tuning(training={"a": choices(1, 2)}, forbidden=every)


def test_listing_ends_where_nearly_everything_is_forbidden() -> None:
    """Ten parameters of four values, of which each pair is forbidden but for the defaults."""
    names = [f"p{number}" for number in range(10)]
    pairs = [
        {f"training.{one}": first, f"training.{other}": second}
        for one, other in itertools.combinations(names, 2)
        for first, second in itertools.product((0, 1, 2, 3), repeat=2)
        if first or second
    ]
    random.Random(1).shuffle(pairs)
    space = SearchSpace(
        tuning(training={name: choices(0, 1, 2, 3) for name in names}, forbidden=pairs)
    )
    assert list(space.listed({})) == [{f"training.{name}": 0 for name in names}]


def test_what_decides_is_looked_at_before_what_is_free() -> None:
    """Else nothing would be found after four million configurations, one by one."""
    free = {f"p{number}": choices(0, 1, 2, 3) for number in range(11)}
    keys = {
        "model": {"layers": choices(1, 2)},
        "training": free,
        "system": {"cores": choices(1, 2)},
        "forbidden": [{"model.layers": 2, "system.cores": cores} for cores in (1, 2)],
    }
    space = SearchSpace(tuning(**keys))
    assert list(space.listed({"model.layers": 2})) == []
    assert len(list(itertools.islice(space.listed({}), 100))) == 100


def test_a_search_for_what_is_allowed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is allowed with two layers, and all but the last parameters have to be tried."""
    monkeypatch.setattr("trimtab.tuning.space._MOST_STEPS", 20_000)
    names = [f"p{number}" for number in range(25)]
    ends = [{"training.p24": p24, "training.z": z} for p24 in (0, 1) for z in (0, 1)]
    ends += [{f"training.{name}": 1, "training.z": 1} for name in names[:-1]]
    keys = {
        "model": {"layers": choices(1, 2)},
        "training": {name: choices(0, 1) for name in [*names, "z"]},
        "forbidden": [{"model.layers": 2, **end} for end in ends],
    }
    with pytest.raises(UserError, match="could not be listed in time"):
        list(SearchSpace(tuning(**keys)).listed({"model.layers": 2}))
