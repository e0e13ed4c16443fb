"""perf counters: the scaling by formula, the path with software events that every machine has."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.profiling.meters.hardware_counters import (
    CounterEvent,
    CounterReading,
    HardwareCounters,
    scaled,
)

# PERF_TYPE_SOFTWARE: page faults (2) and task clock in nanoseconds (1).
SOFTWARE = (CounterEvent("page_faults", 1, 2), CounterEvent("task_clock", 1, 1))


@given(st.integers(0, 10**12), st.integers(1, 10**12), st.integers(0, 10**12))
def test_scaling_by_time_enabled_over_time_running(count: int, running: int, more: int) -> None:
    value = scaled(CounterReading(0, 0, 0), CounterReading(count, running + more, running))
    assert value == pytest.approx(count * (running + more) / running)


def test_an_event_that_never_ran_is_unknown() -> None:
    assert scaled(CounterReading(5, 10, 10), CounterReading(5, 20, 10)) is None
    assert scaled(CounterReading(5, 10, 10), CounterReading(5, 10, 10)) == 0.0


def test_software_events_of_a_child_and_its_child() -> None:
    code = "import os\nif not os.fork(): y = bytearray(64 << 20); os._exit(0)\nos.wait()"
    with HardwareCounters(SOFTWARE) as counters:
        if counters.missing:
            pytest.skip(counters.missing)
        subprocess.run([sys.executable, "-c", code], check=True)
        counts = counters.read()
    assert counts["task_clock"] > 1e6
    assert counts["enabled_ns"] >= counts["running_ns"] > 0


def test_an_event_that_no_machine_has_is_told_with_its_reason() -> None:
    with HardwareCounters([CounterEvent("nonsense", 0, 999)]) as counters:
        assert "nonsense" in counters.missing
        assert counters.read()["nonsense"] != counters.read()["nonsense"]  # NaN
