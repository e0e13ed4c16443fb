"""What a comparison of policies says of itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.records.batch.comparison import (
    NodeGroup,
    PolicyOutcome,
    QueueComparison,
    QueueWaits,
    WaitFigures,
    format_duration,
)

UNITS_S = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def waits(mean_s: float) -> QueueWaits:
    figures = WaitFigures(10, *[mean_s] * 6, 1.0 + mean_s)
    return QueueWaits(figures, [], [], None)


def comparison(
    means_s: dict[str, float],
    *,
    recorded_s: float | None = None,
    load: float | None = None,
) -> QueueComparison:
    return QueueComparison(
        file="jobs.csv", format="csv", jobs=10, counted=10, left_out=0, skipped={}, load=load,
        remarks=[],
        nodes=[NodeGroup("64c", 1, 64_000, 0)],
        recorded=None if recorded_s is None else waits(recorded_s),
        policies=[
            PolicyOutcome(name, f"{name}.parquet", waits(mean_s), 1.0, 0.5, *[None] * 5)
            for name, mean_s in means_s.items()
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (comparison({"fcfs": 60.0}), "fcfs: mean wait 60 s"),
        (comparison({"fcfs": 60.0, "easy": 90.0}), "fcfs: mean wait 60 s, the shortest"),
        (
            comparison({"fcfs": 60.0, "easy": 15.0}),
            "easy: mean wait 15 s instead of 60 s under fcfs (-75 %)",
        ),
        (
            comparison({"fcfs": 60.0}, recorded_s=2.0),
            "fcfs: mean wait 60 s instead of 2 s as recorded (+2,900 %)",
        ),
        (
            comparison({"fcfs": 60.0, "easy": 0.0}, recorded_s=0.0),
            "easy: mean wait 0 s instead of 0 s as recorded",
        ),
        (
            comparison({"fcfs": 60.0}, recorded_s=0.0),
            "fcfs: mean wait 60 s instead of 0 s as recorded",
        ),
        (comparison({"fcfs": 60.0, "easy": 60.0}), "fcfs: mean wait 60 s"),
        (comparison({"fcfs": 60.0}, load=0.99), "fcfs: mean wait 60 s"),
        (
            comparison({"fcfs": 60.0, "easy": 15.0}, load=1.5),
            "jobs ask for 1.50 times what the nodes have, so waits grow with the length of the log;"
            " easy: mean wait 15 s instead of 60 s under fcfs (-75 %)",
        ),
    ],
)
def test_the_first_sentence_is_what_the_best_policy_saves(
    found: QueueComparison, said: str
) -> None:
    assert found.sentences() == [said]


@given(st.floats(0, 1e9))
def test_a_duration_is_in_a_unit_that_suits_it(time_s: float) -> None:
    number, unit = format_duration(time_s).split()
    value = float(number.replace(",", ""))
    assert value * UNITS_S[unit] == pytest.approx(time_s, rel=0.03)
    assert 2 <= value < 200 or unit in ("s", "d")
