"""What is tuned: each mistake is told with its key, and editing it measures nothing again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from config_files import workload, write
from shipped_configurations import SHIPPED

from trimtab.config import ConfigError, Configurations, dump
from trimtab.config.fields import MistakeError
from trimtab.config.groups.tuning import Tuning
from trimtab.config.groups.workload import Workload
from trimtab.config.stages import DebloatStage, EvaluateStage, ProfileStage, VerifyStage, load
from trimtab.config.validate import checked

CHOICES = {"choices": [1, 2, 4], "default": 2}
RANGE = {"low": 0.0, "high": 0.5, "default": 0.1}


def tuning(**keys: Any) -> dict[str, Any]:
    return {"epochs": {"least": 2, "most": 10}, "model": {"layers": CHOICES}, **keys}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (tuning(epochs=None), ["epochs", "the keys least, most"]),
        (tuning(epochs={"least": 3, "most": 2}), ["epochs.most: 2 given", "at least 3"]),
        (tuning(epochs={"least": 0, "most": 2}), ["epochs.least: 0 given", "at least 1"]),
        (tuning(data_fraction={"least": 1.5}), ["data_fraction.least", "at most 1"]),
        (tuning(data_fraction={"least": 0}), ["data_fraction.least", "above 0"]),
        (tuning(metric="top 1"), ["metric: 'top 1' given", "name of a metric"]),
        (tuning(model={}), ["model: nothing to tune"]),
        (tuning(modle={}), ["modle: unknown key; did you mean model?"]),
        (tuning(model={"a": {**CHOICES, "low": 1}}), ["model.a.low: given beside `choices`"]),
        (tuning(model={"a": {**CHOICES, "log": True}}), ["model.a.log: given beside `choices`"]),
        (tuning(model={"a": {"default": 1}}), ["model.a.low: missing", "`choices`"]),
        (tuning(model={"a": {"low": 1, "default": 1}}), ["model.a.high: missing"]),
        (tuning(model={"a": {"low": 1, "high": 2}}), ["model.a.default: missing"]),
        (tuning(model={"a": {**RANGE, "high": -1}}), ["model.a.high: -1.0 given", "at least 0"]),
        (tuning(model={"a": {**RANGE, "log": True}}), ["model.a.low: 0.0 given", "above 0", "log"]),
        (tuning(model={"a": {**RANGE, "whole": True}}), ["model.a.high: 0.5", "whole number"]),
        (tuning(model={"a": {**RANGE, "default": 0.6}}), ["model.a.default: 0.6", "from 0 to 0.5"]),
        (tuning(model={"a": {**RANGE, "default": True}}), ["model.a.default: True"]),
        (tuning(model={"a": {"choices": [], "default": 1}}), ["model.a.choices", "at least one"]),
        (tuning(model={"a": {"choices": [1, 1.0], "default": 1}}), ["model.a.choices: 1", "once"]),
        (tuning(model={"a": {"choices": [1, True], "default": 1}}), ["a.choices: 1", "once"]),
        (tuning(model={"a": {"choices": [[1]], "default": 1}}), ["model.a.choices[0]", "a text"]),
        (tuning(model={"a": {**CHOICES, "default": 3}}), ["model.a.default: 3", "one of 1, 2, 4"]),
        (tuning(model={"epochs": CHOICES}), ["model.epochs: the key `tuning.epochs` says"]),
        (tuning(training={"data_fraction": RANGE}), ["training.data_fraction", "tuning.data_frac"]),
        (tuning(training={"output": CHOICES}), ["training.output", "{output} is the folder"]),
        (tuning(training={"Batch": CHOICES}), ["training.Batch", "lower-case"]),
        (tuning(training={"layers": CHOICES}), ["training.layers: it is in `model` too"]),
        (tuning(system={"core": CHOICES}), ["system.core: unknown", "did you mean cores?"]),
        (tuning(system={"cores": RANGE}), ["system.cores.whole: False", "it is a count"]),
        (tuning(system={"cores": {"choices": [0, 1], "default": 1}}), ["system.cores.choices: 0"]),
        (tuning(system={"cores": {"choices": [1.5], "default": 1.5}}), ["whole numbers of at"]),
        (tuning(system={"memory_gib": RANGE}), ["system.memory_gib.low: 0.0", "above 0"]),
        (tuning(system={"gpus": {"choices": ["a"], "default": "a"}}), ["system.gpus.choices: 'a'"]),
        (tuning(inference={"loader_workers": CHOICES}), ["inference.loader_workers: unknown"]),
        (tuning(model={"a": {**RANGE, "when": {"b": [1]}}}), ["model.a.when", "parameter 'b'"]),
        (
            tuning(training={"a": {**RANGE, "when": {"model.layer": [1]}}}),
            ["training.a.when: unknown parameter 'model.layer'; did you mean model.layers?"],
        ),
        (
            tuning(training={"a": {**RANGE, "when": {"model.layers": [3]}}}),
            ["training.a.when.model.layers: 3 given, expected one of 1, 2, 4"],
        ),
        (
            tuning(training={"a": {**RANGE, "when": {"model.layers": []}}}),
            ["training.a.when.model.layers: [] given, expected at least one value"],
        ),
        (
            tuning(training={"a": RANGE, "b": {**RANGE, "when": {"training.a": [0.1]}}}),
            ["training.b.when: 'training.a' given, expected a parameter with `choices`"],
        ),
        (
            tuning(model={"a": {**CHOICES, "when": {"model.a": [1]}}}),
            ["model.a.when: conditions in a circle: model.a -> model.a"],
        ),
        (
            tuning(
                model={
                    "a": {**CHOICES, "when": {"model.b": [1]}},
                    "b": {**CHOICES, "when": {"model.a": [1]}},
                }
            ),
            ["conditions in a circle: model."],
        ),
        (tuning(forbidden=[{}]), ["forbidden[0]: nothing named"]),
        (tuning(forbidden=[{"model.layers": 2}]), ["forbidden[0]: the defaults have these values"]),
        (tuning(forbidden=[{"model.layers": 3}]), ["forbidden[0].model.layers: 3 given"]),
        (tuning(forbidden=[{"model.layers": True}]), ["forbidden[0].model.layers: True given"]),
        (tuning(forbidden=[{"layers": 2}]), ["forbidden[0]: unknown parameter 'layers'"]),
        (tuning(forbidden=[{"model.layers": [2]}]), ["forbidden[0].model.layers: [2] given"]),
    ],
)
def test_each_mistake_is_told_with_its_key(document: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(MistakeError) as caught:
        checked(document, Tuning)
    assert all(part in str(caught.value) for part in said), str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mistake_in_a_file_is_told_with_its_place(conf: Path) -> None:
    file = "workload/lenet5_train.yaml"
    write(conf, file, workload(tuning=tuning(model={"a": {**CHOICES, "default": 3}})))
    with pytest.raises(ConfigError) as caught:
        Configurations(conf)
    assert str(caught.value).startswith(f"{conf / file}: workload.tuning.model.a.default: 3 given")


def test_conditions_and_forbidden_sets_are_read_from_a_file_with_their_dots(conf: Path) -> None:
    document = tuning(
        training={"rate": {**RANGE, "when": {"model.layers": [1, 2]}}},
        forbidden=[{"model.layers": 4}],
    )
    write(conf, "workload/lenet5_train.yaml", workload(tuning=document))
    read = Configurations(conf).root.workload.tuning
    assert read is not None
    assert read.training["rate"].when == {"model.layers": [1, 2]}
    assert read.forbidden == [{"model.layers": 4}]


def test_a_configuration_is_completed_by_the_defaults_of_what_is_there() -> None:
    beside = {**RANGE, "when": {"model.layers": [4]}}
    document = tuning(training={"rate": beside}, system={"cores": CHOICES})
    read = checked(document, Tuning)
    assert read.completed({}) == {"model.layers": 2, "system.cores": 2}
    assert read.completed({"training.rate": 0.5, "system.cores": 1}) == {
        "model.layers": 2,
        "system.cores": 1,
    }
    assert read.completed({"model.layers": 4})["training.rate"] == 0.1
    assert read.completed({"model.layers": 4, "training.rate": 0.5})["training.rate"] == 0.5


def test_a_word_of_the_command_needs_a_value() -> None:
    words = ["python", "{depth}"]
    model = {"depth": {"choices": [None, 1], "default": 1}}
    document = workload(command=words, parameters={"depth": 1}, tuning=tuning(model=model))
    with pytest.raises(MistakeError, match=r"tuning.model.depth.choices: None given"):
        checked(document, Workload)


def test_editing_what_is_tuned_profiles_and_debloats_nothing_again() -> None:
    root = SHIPPED.root
    before = root.workload
    assert before.tuning is not None
    edited = [
        replace(before, tuning=None),
        replace(before, tuning=replace(before.tuning, metric="top_5")),
        replace(before, tuning=checked(tuning(), Tuning)),
    ]
    for after in edited:
        for stage in (
            lambda one: ProfileStage(one, root.hardware, root.profiling),
            lambda one: DebloatStage("a", "b", [], [one], root.debloat),
            lambda one: VerifyStage("a", [one], root.hardware, root.verify),
        ):
            assert dump(stage(after)) == dump(stage(before))
        told = EvaluateStage(root.experiment, {"workload": [after]})
        assert dump(told) != dump(EvaluateStage(root.experiment, {"workload": [before]}))
        assert load(dump(told), EvaluateStage).options == {"workload": [after]}


def test_an_objective_of_tuning_searches_for_no_schedule_again() -> None:
    from trimtab.config.stages import DeflateStage

    root = SHIPPED.root
    stages = [
        DeflateStage(root.cluster, [], root.trace, replace(root.objective, **changes))
        for changes in ({}, {"score": "accuracy / training_s"}, {"goal": "minimise"})
    ]
    assert len({dump(stage) for stage in stages}) == 1
    assert "score" not in json.loads(dump(stages[0]))["objective"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"score": "accuracy["}, "objective.score: 'accuracy[' given, expected arithmetic"),
        ({"score": "open('x')"}, "which \"open('x')\" is not"),
        ({"goal": "max"}, "one of maximise, minimise"),
    ],
)
def test_a_score_that_is_none(conf: Path, changes: dict[str, str], said: str) -> None:
    name = Configurations(conf).root.objective.name
    write(conf, f"objective/{name}.yaml", {"name": name, **changes})
    with pytest.raises(ConfigError) as caught:
        Configurations(conf)
    assert said in str(caught.value)
