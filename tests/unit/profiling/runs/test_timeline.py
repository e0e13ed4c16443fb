"""Windows that cover a run add up to its totals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.profiling.sampling.timeline import Timeline

steps = st.lists(st.tuples(st.floats(1e-3, 10), st.integers(0, 1000)), min_size=1, max_size=20)


@given(steps, st.lists(st.floats(0, 1), max_size=6))
def test_windows_add_up(readings: list[tuple[float, int]], cuts: list[float]) -> None:
    timeline = Timeline()
    time_s, faults = 0.0, 0
    timeline.add(time_s, {"faults": 0, "joules": 0.0})
    for duration_s, more in readings:
        time_s, faults = time_s + duration_s, faults + more
        timeline.add(time_s, {"faults": faults, "joules": faults / 7})
    windows = timeline.over([0.0, *sorted(cut * time_s for cut in cuts), time_s], ["faults"])
    assert all(window["faults"] >= 0 for window in windows)
    assert all(window["faults"].is_integer() for window in windows)
    assert sum(window["faults"] for window in windows) == faults
    assert sum(window["joules"] for window in windows) == pytest.approx(faults / 7)


def test_growth_between_two_readings_is_even() -> None:
    timeline = Timeline()
    timeline.add(0.0, {"x": 0.0})
    timeline.add(4.0, {"x": 8.0})
    assert timeline.over([0.0, 1.0, 4.0]) == [{"x": 2.0}, {"x": 6.0}]


def test_a_reading_that_came_after_the_end_gives_way_to_the_last_one() -> None:
    timeline = Timeline()
    timeline.add(0.0, {"x": 0.0}, {"held": 1})
    timeline.add(2.1, {"x": 5.0}, {"held": 2})
    timeline.add(2.0, {"x": 6.0}, {"held": 3})
    assert list(timeline.frame()["time_s"]) == [0.0, 2.0]
    assert list(timeline.frame()["held"]) == [1, 3]
