"""Demands are exact; classes are named by demands, rounded up in few steps."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.traces.jobs import as_trace, jobs_frame, put_into_classes, rounded_up


@given(st.lists(st.integers(0, 2**45), min_size=1), st.sampled_from([1, 125, 250, 2**28]))
def test_rounding_up(demands: list[int], unit: int) -> None:
    rounded = rounded_up(np.array(demands), unit)
    for demand, result in zip(demands, rounded.tolist(), strict=True):
        units, rest = divmod(result, unit)
        assert rest == 0 and result >= demand
        # Three significant binary digits, and no smaller such number is enough.
        digits = max(units.bit_length() - 3, 0)
        assert units % 2**digits == 0
        exact = -(-demand // unit)
        assert units == exact if exact <= 8 else units < exact * 1.25
        below = units - 2 ** max((units - 1).bit_length() - 3, 0)
        assert demand == 0 or below * unit < demand
    assert (rounded_up(rounded, unit) == rounded).all()


@pytest.mark.parametrize("cores", [1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 80, 96, 128])
def test_whole_machines_stay_what_they_are(cores: int) -> None:
    assert rounded_up(np.array([cores * 1000]), 250).tolist() == [cores * 1000]


def test_names_tell_the_most_that_is_demanded() -> None:
    frame = pd.DataFrame(
        [(4000, 0, 16 * 2**30, 0), (8100, 1001, 1, 2), (1, 460, 0, 0), (3990, 0, 16 * 2**30, 0)],
        columns=["cpu_milli", "gpu_milli", "memory_bytes", "priority"],
        index=[7, 7, 3, 1],
    )
    classes = put_into_classes(frame)
    assert classes["job_class"].tolist() == [
        "4c_16g",
        "10c_2gpu_0.25g_p2",
        "0.25c_0.5gpu",
        "4c_16g",
    ]
    demands = ["cpu_milli", "gpu_milli", "memory_bytes", "priority"]
    pd.testing.assert_frame_equal(classes[demands], frame)


def test_a_part_of_a_thousandth_counts_but_no_error_of_floating_point() -> None:
    # 0.07 * 100 is a little above 7 in floating point.
    cpu_milli = [0.07 * 100, 11.25, 1e-12, 12.0]
    found = pd.concat(as_trace([jobs_frame(range(4), 1.0, cpu_milli)]))
    assert cpu_milli[0] > 7 and found["cpu_milli"].tolist() == [7, 12, 1, 12]


_DEMAND = st.tuples(st.integers(1, 2**45), st.integers(0, 2**45), st.integers(0, 2**45))


@given(st.lists(_DEMAND, min_size=1))
def test_recorded_demands_are_exact(demands: list[tuple[int, int, int]]) -> None:
    cpu_milli, gpu_milli, memory_bytes = zip(*demands, strict=True)
    jobs = jobs_frame(range(len(demands)), 1.0, cpu_milli, gpu_milli, memory_bytes)
    found = pd.concat(as_trace([jobs]))
    assert found["cpu_milli"].tolist() == list(cpu_milli)
    assert found["gpu_milli"].tolist() == list(gpu_milli)
    assert found["memory_bytes"].tolist() == list(memory_bytes)
    # A class never mixes demands that differ by more than a quarter and a unit.
    for _, of_class in found.groupby("job_class"):
        least, most = of_class["cpu_milli"].min(), of_class["cpu_milli"].max()
        assert most <= least * 1.25 + 250
