"""What is scaled from one machine to another, by hand-worked examples."""

from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.config import Configurations
from trimtab.config.groups.hardware import Hardware, Roofline
from trimtab.errors import UserError
from trimtab.tuning.inference.prediction import BatchTimes
from trimtab.tuning.inference.roofline import arithmetic_share, at_cores, left_out_error, scaled

CONF = Path(__file__).resolve().parents[4] / "conf"
PI: Hardware = Configurations(CONF).option("hardware", "raspberry_pi_3b_plus")


def machine(*rooflines: Roofline) -> Hardware:
    return replace(PI, rooflines=list(rooflines))


# Twice the cores do twice the arithmetic, with no more of memory.
HOST = machine(Roofline(1, 100.0, 10.0, 1.0), Roofline(2, 200.0, 10.0, 1.0))
DEVICE = machine(Roofline(1, 10.0, 2.0, 5.0), Roofline(2, 20.0, 2.0, 5.0))


def of(*, two_cores: float) -> BatchTimes:
    """0.1 s a sample on one core and nothing else; on two cores that times `two_cores`."""
    one = {(size, 1): 0.1 * size for size in (1, 10)}
    return BatchTimes({**one, **{(size, 2): 0.1 * size * two_cores for size in (1, 10)}})


@pytest.mark.parametrize(
    ("two_cores", "share", "slower"), [(0.5, 1.0, 10.0), (1.0, 0.0, 5.0), (1 / 1.5, 0.5, 50**0.5)]
)
def test_a_program_is_scaled_by_what_bounds_it(
    two_cores: float, share: float, slower: float
) -> None:
    times = of(two_cores=two_cores)
    assert arithmetic_share(times, HOST, 10) == pytest.approx(share)
    estimate = scaled(times, HOST, DEVICE, 10, 1)
    assert estimate.batch_s == pytest.approx(1.0 * slower) and estimate.source == "scaled"
    assert estimate.low_s == estimate.high_s == pytest.approx(estimate.batch_s)


def test_what_cannot_be_told_is_an_interval_from_the_one_to_the_other() -> None:
    times = BatchTimes({(1, 1): 0.1, (10, 1): 1.0})
    assert arithmetic_share(times, HOST, 10) is None
    estimate = scaled(times, HOST, DEVICE, 10, 1, relative_error=0.25)
    assert estimate.low_s == pytest.approx(5.0 / 1.25)
    assert estimate.high_s == pytest.approx(10.0 * 1.25)
    assert estimate.batch_s == pytest.approx(50**0.5)


def test_what_does_not_grow_with_the_batch_is_scaled_by_calls() -> None:
    times = BatchTimes({(1, 1): 0.2, (10, 1): 0.2})
    estimate = scaled(times, HOST, DEVICE, 4, 1)
    assert estimate.batch_s == pytest.approx(0.2 * 5)


def test_the_same_machine_takes_the_same_time() -> None:
    estimate = scaled(of(two_cores=0.7), HOST, HOST, 7, 2)
    assert estimate.batch_s == pytest.approx(of(two_cores=0.7).batch_s(7, 2))


def test_more_cores_than_were_probed_are_all_of_them() -> None:
    assert at_cores(PI, 3) == PI.rooflines[-1] and at_cores(PI, 99) == PI.rooflines[-1]
    assert at_cores(PI, 2).gflop_per_s == 9
    with pytest.raises(UserError, match="trimtab probe"):
        at_cores(machine(), 1)


def test_the_error_of_the_model_that_was_left_out() -> None:
    # The others say that estimates are twice too low; this one is right: off by a factor of 2.
    estimated = {"a": 1.0, "b": 1.0, "c": 1.0}
    assert left_out_error(estimated, {"a": 2.0, "b": 2.0, "c": 1.0}) == pytest.approx(1.0)
    assert left_out_error(estimated, dict.fromkeys(estimated, 3.0)) == pytest.approx(0.0)
    with pytest.raises(ValueError, match="at least two"):
        left_out_error({"a": 1.0}, {"a": 1.0})


@pytest.mark.parametrize("name", ["armv7_4gb", "raspberry_pi_3b_plus", "i7_7567u"])
def test_the_edge_devices_can_be_scaled_to(name: str) -> None:
    device = Configurations(CONF).option("hardware", name)
    estimate = scaled(of(two_cores=0.6), HOST, device, 10, 4)
    assert 0 < estimate.low_s <= estimate.batch_s <= estimate.high_s
