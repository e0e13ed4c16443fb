"""Task programs and what of them is protected: each mistake is told with its key."""

from typing import Any

import pytest
from config_files import PROJECT
from shipped_configurations import SHIPPED

from trimtab.config import ConfigError, Configurations, dump
from trimtab.config.fields import MistakeError
from trimtab.config.groups.experiment import Experiment
from trimtab.config.groups.protection.protect import Protect
from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.config.stages import ProtectStage, load
from trimtab.config.validate import checked


def program(**keys: Any) -> dict[str, Any]:
    return {"name": "it", "program": "matmul", "size": 64, "block": 16, **keys}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (program(block=24), ["block: 24 given", "a divisor of the size (64)"]),
        (program(sizes=[128, 100]), ["sizes: 100 given", "a multiple of the block (16)"]),
        (program(blocks=[32, 5]), ["blocks: 5 given", "a divisor of the size (64)"]),
        (program(blocks=[32, 32]), ["blocks", "every number once"]),
        (program(size=0), ["size: 0 given", "at least 1"]),
        (program(program="../matmul"), ["program", "lower-case letters"]),
        (program(blcoks=[2]), ["blcoks: unknown key; did you mean block"]),
    ],
)
def test_mistakes_of_a_program(document: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(MistakeError) as caught:
        checked(document, TaskProgram)
    assert all(words in str(caught.value) for words in said), str(caught.value)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"variants": ["tdx"]}, ["variants", "original"]),
        ({"variants": []}, ["variants", "at least one variant"]),
        ({"enclaves": ["sgx"]}, ["enclaves", "process"]),
        ({"enclaves": ["modelled"], "costs": []}, ["costs: [] given", "`modelled` has to wait"]),
        ({"policies": []}, ["policies: [] given", "costs are simulated"]),
        ({"workers": [33]}, ["workers", "at most 32"]),
        ({"workers": [1, 1]}, ["workers", "each once"]),
        ({"workers": []}, ["workers", "at least 1"]),
        ({"simulated_workers": [2000]}, ["simulated_workers", "at most 1024"]),
    ],
)
def test_mistakes_of_what_is_protected(document: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(MistakeError) as caught:
        checked(document, Protect)
    assert all(words in str(caught.value) for words in said), str(caught.value)


def test_programs_need_a_machine() -> None:
    with pytest.raises(MistakeError, match="hardware"):
        checked({"name": "it", "protect": {"programs": ["matmul"]}}, Experiment)


def test_set_ups_are_each_once() -> None:
    it = checked(program(sizes=[32, 64], blocks=[16, 8]), TaskProgram)
    assert it.set_ups == [(64, 16), (32, 16), (64, 8)]


@pytest.mark.parametrize(("key", "name"), [("programs", "fft"), ("costs", "trustzone")])
def test_what_is_not_there_is_said_before_anything_runs(key: str, name: str) -> None:
    overrides = ["experiment=secure_tasks_small", f"experiment.protect.{key}=[{name}]"]
    with pytest.raises(ConfigError, match=name):
        Configurations(PROJECT / "conf", overrides)


def test_what_the_report_alone_shows_runs_nothing_again() -> None:
    configurations = SHIPPED
    root = configurations.root
    texts = set()
    for label in ("one", "another"):
        document = program(label=label, published="matmul", macro=label == "one")
        stage = ProtectStage(
            checked(document, TaskProgram), Protect(), [root.enclave], root.hardware
        )
        assert load(dump(stage), ProtectStage).program.set_ups == [(64, 16)]
        texts.add(dump(stage))
    assert len(texts) == 1
