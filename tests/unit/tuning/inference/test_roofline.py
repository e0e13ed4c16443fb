"""What is scaled from one machine to another, by hand-worked examples."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped_configurations import SHIPPED

from trimtab.config.groups.hardware import Hardware, ModelTime, Roofline
from trimtab.errors import UserError
from trimtab.tuning.inference.roofline import Scale, at_cores, left_out_error, scale

PI: Hardware = SHIPPED.option("hardware", "raspberry_pi_3b_plus")


def machine(*rooflines: Roofline, **batch_s: float) -> Hardware:
    models = [ModelTime(name, 16, 1, time_s) for name, time_s in batch_s.items()]
    return replace(PI, rooflines=list(rooflines), models=models)


HERE = Roofline(1, 90.0, 8.0, 1.0)
THERE = Roofline(1, 10.0, 2.0, 20.0)  # arithmetic takes 9 times as long, memory 4, a call 20


def test_without_models_the_interval_has_all_bounds() -> None:
    assert scale(machine(HERE), machine(THERE), 1) == Scale(6.0, 4.0, 20.0, None)
    # One model says how much it is off, and nothing of how much another is.
    alone = scale(machine(HERE, a=1.0), machine(THERE, a=12.0), 1)
    assert alone == Scale(6.0, 4.0, 20.0, None)
    # Neither do models that were timed on one of both.
    assert scale(machine(HERE, a=1.0, b=1.0), machine(THERE, a=1.0, c=1.0), 1) == alone


def test_models_that_both_have_timed_correct_it_and_the_one_left_out_is_its_error() -> None:
    # Scaled by 6 they should take 6 s each. Off by 2, 2 and 1/2: corrected by the cube root of 2.
    # Left out, the last is scaled by 2 times 6 and took a quarter of that: off by a factor of 4;
    # each of the others is scaled by 6, and took twice that.
    found = scale(machine(HERE, a=1.0, b=1.0, c=1.0), machine(THERE, a=12.0, b=12.0, c=3.0), 1)
    assert found.slower == pytest.approx(6 * 2 ** (1 / 3))
    assert found.left_out_error == pytest.approx(4 - 1)
    assert found.low == pytest.approx(found.slower / 4)
    assert found.high == pytest.approx(found.slower * 4)


def test_the_error_of_the_model_that_was_left_out() -> None:
    # The others say that estimates are twice too low; this one is right: off by a factor of 2.
    assert left_out_error({"a": [2.0], "b": [2.0], "c": [1.0]}) == pytest.approx(1.0)
    assert left_out_error({"a": [3.0], "b": [3.0]}) == pytest.approx(0.0)
    # A model's batches are left out together, and are one vote, however many.
    assert left_out_error({"a": [1.0, 4.0], "b": [2.0] * 9}) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="at least two"):
        left_out_error({"a": [1.0]})


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=6), st.floats(0.1, 10))
def test_what_all_models_are_off_by_is_no_error(off: list[float], alike: float) -> None:
    error = left_out_error({str(number): [one] for number, one in enumerate(off)})
    again = left_out_error({str(number): [one * alike] for number, one in enumerate(off)})
    assert error == pytest.approx(again, abs=1e-6)
    # Two of the same make none, and it is never more than all of them differ by.
    assert error <= max(off) / min(off) - 1 + 1e-9


def test_the_same_machine_takes_the_same_time() -> None:
    same = machine(HERE, a=1.0, b=2.0)
    assert scale(same, same, 1) == Scale(1.0, 1.0, 1.0, 0.0)


def test_a_slower_frequency_is_slower_in_all() -> None:
    assert scale(machine(HERE), machine(THERE), 1).times(2.0) == Scale(12.0, 8.0, 40.0, None)


def test_more_cores_than_were_probed_are_all_of_them() -> None:
    assert at_cores(PI, 3) == PI.rooflines[-1] and at_cores(PI, 99) == PI.rooflines[-1]
    assert at_cores(PI, 2).gflop_per_s == 9
    with pytest.raises(UserError, match="trimtab advanced probe"):
        at_cores(machine(), 1)


@pytest.mark.parametrize("name", ["armv7_4gb", "raspberry_pi_3b_plus", "i7_7567u"])
def test_the_edge_devices_can_be_scaled_to(name: str) -> None:
    device = SHIPPED.option("hardware", name)
    found = scale(machine(HERE), device, 4)
    assert 0 < found.low <= found.slower <= found.high < math.inf
    assert found.left_out_error is None  # nobody here has one
