"""Costs of energy over time: against sums of single seconds; curves that are wrong."""

import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.batch.curves import EnergyCurve, read_curve
from trimtab.errors import UserError

DAY = "time,EUR/kWh\n" + "".join(f"{3600 * hour},{0.1 + 0.01 * hour}\n" for hour in range(24))


def cost(curve: EnergyCurve, start_s: float, end_s: float, energy_kwh: float = 1.0) -> float:
    return curve.of_runs(np.array([start_s]), np.array([end_s]), np.array([3.6e6 * energy_kwh]))


def test_a_number_is_a_constant() -> None:
    curve = read_curve("0.25", None)
    assert cost(curve, 5.0, 5e8, 4.0) == pytest.approx(1.0)
    assert cost(read_curve("-0.1", None), 0.0, 1.0) == pytest.approx(-0.1)


def test_a_run_over_an_edge_pays_both_prices(tmp_path: Path) -> None:
    path = tmp_path / "price.csv"
    path.write_text(DAY)
    curve = read_curve(str(path), None)
    assert cost(curve, 1800.0, 5400.0) == pytest.approx(0.105)
    assert cost(curve, 3600.0, 7200.0) == pytest.approx(0.11)
    assert cost(curve, 0.0, 86400.0) == pytest.approx(0.1 + 0.01 * 11.5)


@given(st.floats(0, 10 * 86400), st.floats(1, 3 * 86400))
def test_a_curve_of_days_repeats(start_s: float, took_s: float) -> None:
    values = np.array([0.3, -0.05, 0.2])
    curve = EnergyCurve("c", np.array([0.0, 30_000.0, 50_000.0]), values, 86400.0)
    # In steps of a thousandth of the run, each of its own price.
    steps = start_s + took_s * (np.arange(1000) + 0.5) / 1000
    prices = values[np.searchsorted([30_000.0, 50_000.0], steps % 86400, side="right")]
    assert cost(curve, start_s, start_s + took_s) == pytest.approx(prices.mean(), abs=2e-3)
    later = cost(curve, start_s + 5 * 86400, start_s + took_s + 5 * 86400)
    assert later == pytest.approx(cost(curve, start_s, start_s + took_s), abs=1e-9)


@given(st.floats(0, 86000), st.floats(0, 86000), st.floats(0, 86000))
def test_parts_of_a_run_add_up(one: float, two: float, three: float) -> None:
    start_s, middle_s, end_s = sorted((one, two, three))
    curve = EnergyCurve("c", np.array([0.0, 40_000.0]), np.array([1.0, 3.0]), 86400.0)
    whole = cost(curve, start_s, end_s, end_s - start_s)
    parts = cost(curve, start_s, middle_s, middle_s - start_s)
    assert whole == pytest.approx(parts + cost(curve, middle_s, end_s, end_s - middle_s), abs=1e-6)


def test_dates_count_from_the_first_submission(tmp_path: Path) -> None:
    path = tmp_path / "price.csv"
    path.write_text("at,price\n2026-01-01T00:00,1\n2026-01-01T12:00Z,3\n")
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert cost(read_curve(str(path), noon), 0.0, 3600.0) == pytest.approx(3.0)
    assert cost(read_curve(str(path), noon), 43_200.0, 46_800.0) == pytest.approx(1.0)  # midnight
    assert cost(read_curve(str(path), None), 0.0, 3600.0) == pytest.approx(1.0)


def test_a_short_curve_is_no_answer_for_later(tmp_path: Path) -> None:
    path = tmp_path / "price.csv"
    path.write_text("0,1\n3600,2\n")
    curve = read_curve(str(path), None)
    assert cost(curve, 0.0, 7200.0) == pytest.approx(1.5)
    with pytest.raises(UserError, match=r"covers 0 to 7,200 s .* the jobs 0 to 7,201 s"):
        cost(curve, 0.0, 7201.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "0 rows of numbers"),
        ("time,price\n", "0 rows of numbers"),
        ("0,1\n", "1 rows of numbers"),
        ("0,1\n0,2\n", ":2: '0': expected a time after the line before"),
        ("0,1\nsoon,2\n", ":2: 'soon,2'"),
        ("0,1\n60,nan\n", ":2: '60,nan'"),
        ("0,1\n60,inf\n", ":2"),
        ("0,1,2\n", ":1: 3 columns"),
        ('0,"1\n', "expected two columns"),
        ("\x00,1\n1,2\n2,3\n3", "columns"),
    ],
)
def test_what_is_no_curve_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "price.csv"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        read_curve(str(path), None)
    assert str(path) in str(raised.value) and problem in str(raised.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)) * 10)
    for path in (binary, tmp_path, tmp_path / "missing"):
        with pytest.raises(UserError, match="expected two columns"):
            read_curve(str(path), None)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(UserError, match="larger than"):
        read_curve(str(large), None)
    assert math.isfinite(cost(read_curve("1e3", None), 0, 1))
