"""Published statements: how they are read, and when ours agree with them."""

import math

import pytest
from config_files import PROJECT
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.evaluation.report.published import PublishedRow
from trimtab.evaluation.schedules.statements import (
    AGREES,
    DIFFERS,
    OPEN,
    Statement,
    parse_statement,
    statements,
)

numbers = st.floats(-100, 100)


def statement(quantity: str = "makespan_difference_pct", **values: float | str) -> Statement:
    named = {"traces": "bursts", "policies": "heats", "quantity": quantity}
    row = PublishedRow("A paper", "Section 3.4", "A row", "8 nodes", None, named | values)
    return parse_statement(row)


@given(numbers, numbers)
def test_a_value_agrees_within_5_points(published: float, ours: float) -> None:
    verdict = statement(value=published).verdict(ours, None)
    assert verdict == (AGREES if abs(ours - published) <= 5 else DIFFERS)


@given(st.floats(0.01, 1e6), st.floats(0, 1e6))
def test_a_time_agrees_within_5_per_cent(published_s: float, ours_s: float) -> None:
    verdict = statement("waiting_mean_s", value=published_s).verdict(ours_s, None)
    off = abs(ours_s - published_s) / published_s
    if not math.isclose(off, 0.05, rel_tol=1e-6):
        assert verdict == (AGREES if off < 0.05 else DIFFERS)


@given(numbers, numbers, numbers)
def test_a_range_agrees_inside_and_5_points_around(one: float, other: float, ours: float) -> None:
    low, high = min(one, other), max(one, other)
    verdict = statement(low=low, high=high).verdict(ours, None)
    assert verdict == (AGREES if low - ours <= 5 and ours - high <= 5 else DIFFERS)
    if verdict == AGREES:  # half a range holds whatever the whole one does
        assert statement(low=low).verdict(ours, None) == AGREES
        assert statement(high=high).verdict(ours, None) == AGREES


@pytest.mark.parametrize(
    ("direction", "ours", "interval", "verdict"),
    [
        ("less", -3.0, (-4.0, -2.0), AGREES),
        ("less", 3.0, (2.0, 4.0), DIFFERS),
        ("more", 3.0, (2.0, 4.0), AGREES),
        ("more", -3.0, (-4.0, -2.0), DIFFERS),
        ("more", 3.0, (-1.0, 7.0), OPEN),
        ("less", -3.0, None, OPEN),  # one replication
        ("less", None, None, OPEN),  # no stable baseline
    ],
)
def test_a_direction_needs_an_interval_on_one_side_of_zero(
    direction: str, ours: float | None, interval: tuple[float, float] | None, verdict: str
) -> None:
    assert statement(direction=direction).verdict(ours, interval) == verdict


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"value": -7.1}, "\N{MINUS SIGN}7.1"),
        ({"high": -50}, "at most \N{MINUS SIGN}50"),
        ({"low": 35}, "at least 35"),
        ({"low": -60, "high": -40}, "\N{MINUS SIGN}60 to \N{MINUS SIGN}40"),
        ({"direction": "more"}, "more"),
    ],
)
def test_what_was_published_in_words(values: dict[str, float | str], words: str) -> None:
    assert statement(**values).in_words == words


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"value": 1, "low": 0},
        {"value": 1, "direction": "less"},
        {"direction": "sideways"},
        {"value": 1, "policies": ""},
        {"value": 1, "against": "one two"},
    ],
)
def test_an_ambiguous_statement_is_refused(values: dict[str, float | str]) -> None:
    with pytest.raises(TrimtabError, match=r"Section 3\.4 of A paper, A row: expected quantity"):
        statement(**values)


def test_statements_are_about_files_of_the_project() -> None:
    found = statements()
    assert len(found) == 64
    for each in found:
        for trace in each.traces:
            assert (PROJECT / f"conf/trace/{trace}.yaml").is_file(), each
        for policy in (*each.against, *filter(None, each.against.values())):
            assert (PROJECT / f"conf/policy/{policy}.yaml").is_file(), each
