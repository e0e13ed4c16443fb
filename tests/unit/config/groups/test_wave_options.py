"""The phases of waves in a trace's YAML: what is no distribution is refused, by its key."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from trimtab.config.groups.jobs.waves import WaveConfig
from trimtab.config.groups.trace import JobClassConfig

CHAIN = {"start": [0.3, 0.7], "transitions": [[-4.0, 1.0], [0.5, -0.5]]}


def read(given: dict[str, Any]) -> JobClassConfig:
    return TypeAdapter(JobClassConfig).validate_python(given)


def test_waves_are_read() -> None:
    rounds = read({"rounds": {"map_tasks": 9, "map_wave": CHAIN}}).rounds
    assert rounds.map_wave == WaveConfig([0.3, 0.7], [[-4.0, 1.0], [0.5, -0.5]])
    assert rounds.reduce_wave == WaveConfig()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"start": [0.3, 0.6]}, "start: .* probabilities that add up to 1"),
        ({"start": [1.3, -0.3]}, "greater than or equal to 0"),
        ({"start": [1.0]}, "transitions: 'rows of 2, 2' given, expected .* phases: 1"),
        ({"start": []}, "transitions: 'rows of 2, 2' given, expected .* phases: 0"),
        ({"transitions": []}, "transitions: 'rows of none' given"),
        ({"transitions": [[-4.0, 1.0], [0.5]]}, "'rows of 2, 1' given"),
        ({"transitions": [[-4.0, -1.0], [0.5, -0.5]]}, r"transitions\[0\]\[1\]: -1.0 given"),
        ({"transitions": [[0.0, 0.0], [0.5, -0.5]]}, r"transitions\[0\]\[0\]: 0.0 .* below 0"),
        ({"transitions": [[-1.0, 2.0], [0.5, -0.5]]}, "at most -2, minus the row's other rates"),
        ({"transitions": [[-1.0, 1.0], [0.5, -0.5]]}, "phase 0 never leads to the end"),
        ({"transitions": [[-1.0, 0.0], [0.0, float("nan")]]}, "finite number"),
        ({"start": [0.0] * 101}, "'101 phases' given, expected at most 100"),
    ],
)
def test_what_is_no_distribution_is_refused(changed: dict[str, Any], expected: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=expected):
        TypeAdapter(WaveConfig).validate_python(CHAIN | changed)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({"rounds": {"map_tasks": 9, "reduce_tasks": 2, "map_wave": CHAIN}}, "reduce_wave.start"),
        ({"rounds": {"map_tasks": 9, "reduce_wave": CHAIN}}, "map_wave.start: .* or of none"),
        ({"rounds": {"map_wave": CHAIN, "map_task_s": 2}}, "map_task_s: 2.0 given, expected none"),
        ({"rounds": {"map_wave": CHAIN}, "program": "triangle_count"}, "none with `program`"),
        ({"rounds": {"map_wave": CHAIN}, "secure": True}, "none with `program` or `secure`"),
    ],
)
def test_waves_take_the_place_of_tasks_times(job: dict[str, Any], expected: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=expected):
        read(job)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=8), st.data())
def test_every_chain_that_ends_is_taken(leaving: list[float], data: st.DataObject) -> None:
    count = len(leaving)
    shares = data.draw(st.lists(st.floats(0.0, 1.0), min_size=count, max_size=count))
    # A chain of phases that may go on or end; the last one ends.
    rows = [[0.0] * count for _ in leaving]
    for row, rate in enumerate(leaving):
        rows[row][row] = -rate
        if row + 1 < count:
            rows[row][row + 1] = rate * shares[row]
    start = [1.0] + [0.0] * (count - 1)
    assert WaveConfig(start, rows).start == start
