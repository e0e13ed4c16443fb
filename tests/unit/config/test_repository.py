"""A file that Hydra would not expect is one line with its name, whatever stands in it."""

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from config_files import write

from trimtab.config import ConfigError, Configurations
from trimtab.config.limits import UnreadableFileError, yaml_values
from trimtab.config.repository import check_layout

EXPERIMENT = "experiment/quickstart.yaml"
VALUES: list[Any] = [
    None, 0, -1, 1.5, True, "", "x", "a.b", "/", "../x", "x" * 500, "\x1b[31m", "a\nb", "???",
    "2026-02-30", 1e308, 10**30, [], {}, [{}], [[]], {"a": 1}, {1: 2}, {"": 1}, {None: 1},
    {"a.b": 1}, {"defaults": ["x"]}, ["x"] * 3, "${x}", "${..}", "${a[}", "${workload.name}",
    "${target:x}", "${oc.env:HOME}", "${oc.decode:'['}",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "expected keys with values, not a list"),
        ("- a\n", "expected keys with values, not a list"),
        ("5", "expected keys with values, not a value alone"),
        ("'${a}'", "expected keys with values, not a value alone"),
        ("'': 1", "the key '' given"),
        ("..: 1", "the key '..' given"),
        ("~: 1", "the key None given"),
        ("a: [{b: {0: 1}}]", "a: b: the key 0 given, expected a text"),
        ('"a\\nb": 1', "the key 'a\\nb' given"),
        ("defaults:", "defaults: None given, expected a list"),
        ("defaults: 5", "defaults: 5 given, expected a list"),
        ("defaults: {a: b}", "defaults: {'a': 'b'} given, expected a list"),
        ("defaults: [a, {}]", "defaults[1]: {} given, expected NAME or GROUP: NAME"),
        ("defaults: [5]", "defaults[0]: 5 given"),
        ("defaults: [a: {}]", "defaults[0]: {'a': {}} given"),
        ("defaults: [a: 0]", "defaults[0]: {'a': 0} given"),
        ("defaults: [a: [b, 1]]", "defaults[0]: {'a': ['b', 1]} given"),
        ("defaults: [{a: b, c: d}]", "defaults[0]: {'a': 'b', 'c': 'd'} given"),
        ("defaults: ['']", "defaults[0]: '' given"),
        ("defaults: ['???']", "defaults[0]: '???' given"),
        (f"defaults: [{'x' * 300}]", "defaults[0]: 'xxx"),
        ("a: 0b_", "invalid literal"),
        ("# @package\na: 1", "line 1: '# @package' given, expected # @package NAME"),
        ("\n# @package a b\na: 1", "line 2: '# @package a b' given"),
        ("# @package .\na: 1", "line 1: '# @package .' given"),
    ],
)
def test_layout(text: str, expected: str) -> None:
    path = Path("a.yaml")
    with pytest.raises(UnreadableFileError) as caught:
        check_layout(path, text)
    assert str(caught.value).startswith(str(path)) and expected in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# @package _global_\ndefaults: [_self_, {override /trace: lcg}, a: [b, c], d: null]\n",
        "# a comment\n# @package is explained here\na: {b: [1, {c: d}]}\n",
        "day: 2026-02-30\nnumber: 1e3\n",
    ],
)
def test_layout_of_hydra(text: str) -> None:
    check_layout(Path("a.yaml"), text)


def test_a_text_that_looks_like_a_date_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("day: 2026-02-30")
    assert yaml_values(tmp_path / "a.yaml") == {"day": "2026-02-30"}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config.yaml", "defaults: ['${target:x}']"),
        (EXPERIMENT, "# @package _global_\ndefaults: [{'override @:': x}]"),
    ],
)
def test_what_only_hydra_finds_names_hydra(conf: Path, file: str, text: str) -> None:
    write(conf, file, text)
    with pytest.raises(ConfigError, match="not understood by Hydra") as caught:
        Configurations(conf)
    assert str(conf) in str(caught.value)


@pytest.mark.parametrize("file", ["config.yaml", EXPERIMENT, "workload/lenet5_train.yaml"])
def test_any_value_or_key_replaced(conf: Path, file: str) -> None:
    text = (conf / file).read_text()
    header = text.partition("\n")[0] if text.startswith("# @") else ""
    whole = list(replaced(yaml.safe_load(text)))
    for document in random.Random(12).sample(whole, 15):
        write(conf, file, f"{header}\n{yaml.safe_dump(document)}")
        try:
            Configurations(conf)
        except ConfigError as error:
            assert "\n" not in str(error)


def replaced(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every document in which one value or one key of `document` is another of VALUES."""
    for steps in places(document):
        for value in VALUES:
            changed = copy.deepcopy(document)
            inside: Any = changed
            for step in steps[:-1]:
                inside = inside[step]
            inside[steps[-1]] = value
            yield changed
            if isinstance(inside, dict) and not isinstance(value, list | dict):
                changed = copy.deepcopy(changed)
                inside = changed
                for step in steps[:-1]:
                    inside = inside[step]
                inside[value] = inside.pop(steps[-1])
                yield changed


def places(value: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The steps to each value inside `value`."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for step, part in inside:
        yield *steps, step
        if isinstance(part, dict | list):
            yield from places(part, (*steps, step))
