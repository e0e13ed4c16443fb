"""The command line that a workload's command and parameters make."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.fields import MistakeError
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import checked
from trimtab.profiling.runs.from_workload import command_line


def workload(command: list[str], **parameters: Any) -> Workload:
    given = {"name": "a", "python": "python", "command": command, "parameters": parameters}
    return checked(given, Workload)


@pytest.mark.parametrize(
    ("command", "parameters", "expected"),
    [
        ("train.py", {"batch_size": 16, "rate": 1e-3}, "train.py --batch-size 16 --rate 0.001"),
        ("train.py {rate}", {"epochs": 3, "rate": 0.5}, "train.py 0.5 --epochs 3"),
        ("train lr={rate},b={rate}", {"rate": "1e-3"}, "train lr=1e-3,b=1e-3"),
        ("train", {"amp": True, "compile": False, "data": None}, "train --amp"),
        ("train amp={amp}", {"amp": False}, "train amp=false"),
        ("train {output}/x {other} {}", {"to": "{output}/y"},
         "train {output}/x {other} {} --to {output}/y"),
        ("train {a}", {"a": "{b}", "b": 1}, "train {b} --b 1"),  # a value is no template
    ],
)  # fmt: skip
def test_parameters_are_placed_or_appended(
    command: str, parameters: dict[str, Any], expected: str
) -> None:
    assert command_line(workload(command.split(), **parameters)) == expected.split()


WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(WORDS.filter(str.strip), min_size=1))
def test_a_command_without_parameters_stays_as_it_is(words: list[str]) -> None:
    assert command_line(workload(words)) == words


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"output": "x"}, r"parameters\.output: 'output' given, expected another name"),
        ({"batch-size": 3}, r"parameters\.batch-size: .* lower-case letters"),
        ({"sizes": [1, 2]}, r"parameters\.sizes: \[1, 2\] given, expected a text without"),
        ({"rate": None}, r"parameters\.rate: None given, expected a value, .* has \{rate\}"),
    ],
)
def test_parameters_that_no_command_line_can_have(
    parameters: dict[str, Any], expected: str
) -> None:
    with pytest.raises(MistakeError, match=expected):
        workload(["train", "{rate}"], **parameters)
