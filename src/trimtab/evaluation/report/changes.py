"""What a difference is: better, worse, or no change; the one rule for all that shows it."""

from enum import StrEnum

NO_CHANGE = "no change"


class Effect(StrEnum):
    """The effect of a change; each has its own style on the page."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"  # no change, or possibly only noise
    ONCE = "once"  # one run or replication, so nobody knows
    NONE = ""  # no difference at all, but a fact

    @property
    def is_shown(self) -> bool:
        """Whether cards and charts show it; else words alone do."""
        return self not in (Effect.UNCLEAR, Effect.ONCE)


def is_clear(low: float, high: float) -> bool:
    """Return whether an interval of a difference tells its sign: it does not contain zero."""
    return not low <= 0 <= high


def effect_of(difference_pct: float | None, interval_pct: tuple[float, float] | None) -> Effect:
    """Return the effect of a difference, where less is better.

    It is unclear if it is shown as 0.0 % or if the interval contains zero. Without an interval it
    was measured once. A difference without error is its own interval.
    """
    if difference_pct is None:
        return Effect.NONE
    shown_pct = round(difference_pct, 1)
    if interval_pct is None:
        return Effect.ONCE
    if not shown_pct or not is_clear(*interval_pct):
        return Effect.UNCLEAR
    return Effect.BETTER if shown_pct < 0 else Effect.WORSE
