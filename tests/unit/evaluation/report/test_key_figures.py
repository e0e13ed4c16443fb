"""What a card says of a change: by how much, from what to what, and whether it is one at all."""

from dataclasses import replace

import pytest

from trimtab.evaluation.report.changes import Effect, effect_of
from trimtab.evaluation.report.key_figures import KeyFigure, less


def row(low: float, median: float, high: float) -> dict[str, float]:
    """Of run time: its reductions, in per cent."""
    names = ("wall_reduction_low_pct", "wall_reduction_pct", "wall_reduction_high_pct")
    return {"wall_s": 12.0, **dict(zip(names, (low, median, high), strict=True))}


def test_a_range_of_pairs_that_spans_zero_is_no_clear_change() -> None:
    card = less("Run time", row(-4, 2, 9), "wall", "s")
    assert (card.change, card.effect) == ("no change", Effect.UNCLEAR)
    assert card.detail.replace("\xa0", " ").replace("\u2212", "-") == (
        "-2.0 %; of 12.00 s; pairs -9.0 % to +4.0 %"
    )


@pytest.mark.parametrize(
    ("low", "median", "high", "effect"),
    [
        (10, 20, 50, Effect.BETTER),
        (-50, -20, -10, Effect.WORSE),
        (0, 5, 9, Effect.UNCLEAR),
        (0, 0, 0, Effect.UNCLEAR),  # every pair was equal
    ],
)
def test_better_and_worse(low: float, median: float, high: float, effect: Effect) -> None:
    assert less("Run time", row(low, median, high), "wall", "s").effect is effect


def test_what_is_shown_as_no_change_is_none() -> None:
    assert effect_of(-0.04, (-0.05, -0.03)) is Effect.UNCLEAR
    assert effect_of(None, None) is Effect.NONE  # not known
    assert effect_of(-0.06, (-0.07, -0.05)) is Effect.BETTER


@pytest.mark.parametrize(
    ("difference_pct", "interval_pct", "effect"),
    [
        (-12.0, (-20.0, -4.0), Effect.BETTER),
        (12.0, (4.0, 20.0), Effect.WORSE),
        (-12.0, (-25.0, 1.0), Effect.UNCLEAR),
        (-12.0, (-24.0, 0.0), Effect.UNCLEAR),
        (-0.1, (-0.3, 0.1), Effect.UNCLEAR),
        (-99.8, None, Effect.ONCE),  # after one run
    ],
)
def test_an_interval_with_zero_or_one_run_has_no_colour(
    difference_pct: float, interval_pct: tuple[float, float] | None, effect: Effect
) -> None:
    assert effect_of(difference_pct, interval_pct) is effect


def test_one_pair_of_runs_has_no_colour() -> None:
    assert less("Run time", row(20, 20, 20) | {"pairs": 1}, "wall", "s").effect is Effect.ONCE
    assert less("Run time", row(20, 20, 20) | {"pairs": 5}, "wall", "s").effect is Effect.BETTER


def test_a_card_that_makes_something_worse_is_not_better_as_a_whole() -> None:
    worse = KeyFigure("Mean response", "+9 %", "", Effect.WORSE)
    card = KeyFigure("Energy", "-12 %", "", Effect.BETTER, also=(worse,))
    assert card.overall is Effect.NONE
    unclear = KeyFigure("Mean response", "+9 %", "", Effect.UNCLEAR)
    assert KeyFigure("Energy", "-12 %", "", Effect.BETTER, also=(unclear,)).overall == "better"


def test_a_card_has_only_what_is_sure() -> None:
    sure, unclear = (
        KeyFigure("a", "-9 %", "", Effect.BETTER),
        KeyFigure("b", "", "", Effect.UNCLEAR),
    )
    once, fact = KeyFigure("c", "+2 %", "", Effect.ONCE), KeyFigure("d", "1.08", "")
    both = replace(unclear, title="T", also=(once, sure))
    assert both.card == replace(sure, title="T")
    assert [(each.label, each.title) for each in both.parts] == [("b", "T"), ("c", "T"), ("a", "T")]
    assert unclear.card is None and replace(once, also=(unclear,)).card is None
    assert fact.card == fact and KeyFigure("e", "\N{EN DASH}", "not measured").card is None
