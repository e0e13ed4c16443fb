"""How values are written for machines and for readers."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.evaluation.report.tables import Column, Table, exact, reduction_pct, shown


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1234.56, 1, "1,234.6"),
        (-0.04, 1, "0.0"),
        (-2.0, 1, "\N{MINUS SIGN}2.0"),
        (3762, 1, "3,762"),
        (None, 1, "\N{EN DASH}"),
        ("", None, "\N{EN DASH}"),
        (True, None, "yes"),
        (False, None, "no"),
        ("torch_cuda.so", None, "torch_cuda.so"),
    ],
)
def test_readers_see_rounded_values(value: object, decimals: int | None, text: str) -> None:
    assert shown(value, decimals) == text  # type: ignore[arg-type]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_machines_get_every_digit(value: float) -> None:
    assert float(exact(value)) == value


def test_nothing_can_be_reduced_by_no_percentage() -> None:
    assert reduction_pct(0, 0) is None
    assert reduction_pct(200, 50) == 75
    assert reduction_pct(100, 110) == -10


def test_the_csv_keeps_text_that_looks_like_csv(tmp_path: Path) -> None:
    hostile = 'a,"b"\nc'
    columns = (Column("name", "Name"), Column("x_pct", "x", 1, ("low_pct", "high_pct")))
    row = {"name": hostile, "x_pct": 1 / 3, "low_pct": 0.25}
    path = Table("t", "T", "", columns, (row,)).write_csv(tmp_path)
    with path.open(newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"name": hostile, "x_pct": repr(1 / 3), "low_pct": "0.25", "high_pct": ""}
        ]
