"""What a card says of a change: by how much, from what to what, and whether it is one at all."""

import pytest

from trimtab.evaluation.report.key_figures import Effect, effect_of, less


def row(low: float, median: float, high: float) -> dict[str, float]:
    """Of run time: its reductions, in per cent."""
    names = ("wall_reduction_low_pct", "wall_reduction_pct", "wall_reduction_high_pct")
    return {"wall_s": 12.0, **dict(zip(names, (low, median, high), strict=True))}


def test_a_range_of_pairs_that_spans_zero_is_no_clear_change() -> None:
    card = less("Run time", row(-4, 2, 9), "wall", "s")
    assert (card.change, card.effect) == ("no clear change", Effect.UNCLEAR)
    assert card.detail.replace("\xa0", " ").replace("\u2212", "-") == (
        "median -2.0 % of 12.00 s; pairs -9.0 % to +4.0 %"
    )


@pytest.mark.parametrize(
    ("low", "median", "high", "effect"),
    [
        (10, 20, 50, Effect.BETTER),
        (-50, -20, -10, Effect.WORSE),
        (0, 5, 9, Effect.UNCLEAR),
        (0, 0, 0, Effect.NONE),  # every pair was equal
    ],
)
def test_better_and_worse(low: float, median: float, high: float, effect: Effect) -> None:
    assert less("Run time", row(low, median, high), "wall", "s").effect is effect


def test_what_is_shown_as_no_change_is_none() -> None:
    assert effect_of(-0.04) is effect_of(None) is Effect.NONE
    assert effect_of(-0.06) is Effect.BETTER
