"""Arrivals by a Markov chain in YAML: what is refused, with its key and what was expected."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.config.fields import MistakeError
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.validate import checked
from trimtab.errors import UserError
from trimtab.queueing.mmap import MarkedArrivals, modulated

D0 = [[-3.0, 1.0], [0.0, -1.0]]
MARKED = {"high": [[0.5, 0.5], [0.5, 0.0]], "low": [[1.0, 0.0], [0.0, 0.5]]}
CHAIN = [[-0.1, 0.1], [0.3, -0.3]]
RATES = {"high": [0.0, 2.0], "low": [1.0, 1.0]}


def trace(**arrivals: Any) -> TraceConfig:
    classes: dict[str, Any] = {"high": {"priority": 1}, "low": {}}
    given = {"name": "t", "arrivals": {"jobs": 5, **arrivals}, "classes": classes}
    return checked(given, TraceConfig)


def markovian(transitions: Any = D0, marked: Any = MARKED) -> TraceConfig:
    return trace(kind="markovian", transitions=transitions, marked=marked)


def modulated_(switching: Any = CHAIN, phase_rates: Any = RATES) -> TraceConfig:
    return trace(kind="modulated", switching=switching, phase_rates=phase_rates)


def test_processes_are_taken() -> None:
    assert markovian().arrivals.marked == MARKED
    assert modulated_().arrivals.phase_rates == RATES


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"transitions": []}, r"arrivals\.transitions: '0 rows' given, expected 1 to 100 rows"),
        ({"transitions": [[-1.0]] * 101}, r"arrivals\.transitions: '101 rows' given"),
        ({"transitions": [[-3.0, 1.0]]}, r"arrivals\.transitions: '1 rows of 2 rates' given"),
        ({"transitions": [[-3.0, -1.0], [0.0, -1.0]]},
         r"arrivals\.transitions\[0\]\[1\]: -1\.0 given, expected a rate of at least 0"),
        ({"transitions": [[-4.0, 1.0], [0.0, -1.0]]},
         r"arrivals\.transitions\[0\]\[0\]: -4\.0 given, expected -3, minus the sum"),
        ({"transitions": [[3.0, 1.0], [0.0, -1.0]]},
         r"arrivals\.transitions\[0\]\[0\]: 3\.0 given"),
        ({"marked": {"high": MARKED["high"]}},
         r"arrivals\.marked: \['high'\] given, expected one matrix for each class, high, low"),
        ({"marked": {**MARKED, "low": [[1.0, 0.0]]}},
         r"arrivals\.marked\.low: '1 rows of 2 rates' given, expected 2 rows of as many"),
        ({"marked": {**MARKED, "low": [[1.0, 0.0], [0.0, -0.5]]}},
         r"arrivals\.marked\.low\[1\]\[1\]: -0\.5 given, expected a rate of at least 0"),
        ({"transitions": [[-2.0, 1.0], [0.0, -0.5]],
          "marked": {**MARKED, "low": [[0.0, 0.0], [0.0, 0.0]]}},
         r"arrivals\.marked\.low: .* it arrives"),
        ({"transitions": [[-2.0, 0.0], [0.0, -1.0]],
          "marked": {"high": [[1.0, 1.0], [0.0, 0.5]], "low": [[0.0, 0.0], [0.0, 0.5]]}},
         r"arrivals\.transitions: phase 1 never leads to phase 0, expected phases that all"),
        ({"transitions": [["nan", 1.0], [0.0, -1.0]]}, r"arrivals\.transitions\[0\]\[0\]"),
        ({"transitions": "D0"}, r"arrivals\.transitions"),
    ],
)  # fmt: skip
def test_what_is_no_marked_markovian_process(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(MistakeError, match=expected):
        markovian(**given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"switching": [[-0.1, 0.2], [0.3, -0.3]]},
         r"arrivals\.switching\[0\]\[0\]: -0\.1 given, expected -0\.2, minus"),
        ({"switching": [[0.0, 0.0], [0.3, -0.3]]},
         r"arrivals\.switching: phase 0 never leads to phase 1"),
        ({"phase_rates": {}}, r"arrivals\.phase_rates: \[\] given, expected rates for each class"),
        ({"phase_rates": {**RATES, "low": [1.0]}},
         r"arrivals\.phase_rates\.low: \[1\.0\] given, expected 2 rates, one a phase"),
        ({"phase_rates": {**RATES, "low": [1.0, -1.0]}}, r"arrivals\.phase_rates\.low"),
        ({"phase_rates": {**RATES, "low": [0.0, 0.0]}}, r"arrivals\.phase_rates\.low"),
    ],
)  # fmt: skip
def test_what_is_no_modulated_process(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(MistakeError, match=expected):
        modulated_(**given)


rates = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0, -1.0])


@settings(max_examples=200)
@given(st.data(), st.integers(1, 3), st.booleans())
def test_a_process_is_taken_if_the_queue_takes_it(data: st.DataObject, n: int, fit: bool) -> None:
    """The check of the YAML and that of the formulas are two programs: they agree."""
    matrix = st.lists(st.lists(rates, min_size=n, max_size=n), min_size=n, max_size=n)
    hidden, high, low = (data.draw(matrix) for _ in range(3))
    for row in range(n if fit else 0):
        others = [hidden[row][to] for to in range(n) if to != row]
        hidden[row][row] = -sum(others) - sum(high[row]) - sum(low[row])
    try:
        MarkedArrivals(hidden, [high, low])  # type: ignore[arg-type]
        expected = True
    except UserError:
        expected = False
    try:
        markovian(hidden, {"high": high, "low": low})
        taken = True
    except MistakeError:
        taken = False
    assert taken == expected


def test_a_modulated_process_is_a_marked_one() -> None:
    process = modulated(list(RATES.values()), CHAIN)
    marked = dict(zip(RATES, process.marked.tolist(), strict=True))
    assert markovian(process.hidden.tolist(), marked)
