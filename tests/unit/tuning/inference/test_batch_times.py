"""Times of batches that were not run, against machines that are known to the last digit."""

import pytest
from batch_times import BatchTimes
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import UserError


def amdahl_s(size: int, cores: int) -> float:
    """A machine: 2 ms a batch, 1 ms a sample of which a quarter is for one core alone."""
    return 0.002 + size * 0.001 * (0.25 + 0.75 / cores)


@given(st.integers(1, 1000), st.integers(1, 16), st.sampled_from([1.0, 0.5, 0.1]))
def test_an_affine_machine_that_obeys_amdahl_is_found(size: int, cores: int, share: float) -> None:
    times = BatchTimes({(b, c): amdahl_s(b, c) for b in (1, 32, 256) for c in (1, 2)})
    assert times.batch_s(size, cores, share) == pytest.approx(amdahl_s(size, cores) / share)


def test_between_two_sizes_the_nearest_count() -> None:
    times = BatchTimes({(1, 1): 1.0, (3, 1): 2.0, (5, 1): 10.0})
    assert times.batch_s(2, 1) == 1.5  # by hand
    assert times.batch_s(4, 1) == 6.0
    assert times.batch_s(6, 1) == 14.0
    assert times.batch_s(3, 1) == 2.0
    assert times.batch_s(4, 7) == 6.0  # nothing is known of other cores


def test_what_being_stopped_cost_one_size_it_costs_all() -> None:
    times = BatchTimes({(1, 1): 1.0, (3, 1): 2.0}, {(1, 1, 0.25): 5.0})
    assert times.batch_s(2, 1, 0.25) == 7.5  # by hand
    assert times.batch_s(2, 1, 0.5) == 3.0  # not tried: the share alone
    assert times.batch_s(2, 2, 0.25) == 6.0  # nor on so many cores
    two = BatchTimes({(1, 1): 1.0, (16, 1): 16.0}, {(1, 1, 0.25): 6.0, (16, 1, 0.25): 4.0})
    assert two.batch_s(4, 1, 0.25) == pytest.approx(4 * 5.0)  # half of the way, by its ratio
    assert two.batch_s(32, 1, 0.25) == pytest.approx(32 * 4.0)  # beyond it nothing is known


def test_times_that_disagree_do_not_go_below_nothing() -> None:
    assert BatchTimes({(1, 1): 1.0, (2, 1): 0.1}).batch_s(100, 1) > 0


@pytest.mark.parametrize(
    "measured",
    [{(1, 1): 1.0}, {(1, 1): 1.0, (2, 2): 1.0}, {(1, 1): 1.0, (2, 1): float("nan")}, {}],
)
def test_too_little_is_said(measured: dict[tuple[int, int], float]) -> None:
    with pytest.raises(UserError, match="expected"):
        BatchTimes(measured)
