"""The key figures of the report."""

from dataclasses import dataclass
from enum import StrEnum

from trimtab.evaluation.report.tables import UNKNOWN, Row, Value, shown

_UNITS = {"": "", "mb": "MB", "s": "s", "j": "J"}
_NO_CLEAR_CHANGE = "no clear change"


class Effect(StrEnum):
    """The effect of a change; each has its own style on the page."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"  # possibly only noise
    NONE = ""


@dataclass(frozen=True)
class KeyFigure:
    """A change in per cent, with its subject and both values.

    `also` are further figures of the same subject, on the same card, below the card's `title`.
    """

    label: str
    change: str
    detail: str
    effect: Effect = Effect.NONE
    title: str = ""
    also: tuple["KeyFigure", ...] = ()

    @property
    def overall(self) -> Effect:
        """The effect of all figures of the card; none where one is better and another worse."""
        effects = {self.effect, *(figure.effect for figure in self.also)}
        return Effect.NONE if {Effect.BETTER, Effect.WORSE} <= effects else self.effect


def less(label: str, row: Row, stem: str, unit: str = "") -> KeyFigure:
    """Return a row's key figure of `stem`: before and after, or the pairs' lowest and highest.

    The row's keys are `stem`_`unit`, `stem`_reduction_pct and so on. Pairs with different signs
    give no clear change, and a single pair has no effect.
    """
    before = row.get(f"{stem}_{unit}" if unit else stem)
    if not isinstance(before, (int, float)):
        return KeyFigure(label, UNKNOWN, "not measured")
    reduction, low, high = (row.get(f"{stem}_reduction{end}_pct") for end in ("", "_low", "_high"))
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        words = f"of {format_change(before)} {_UNITS[unit]}; pairs {_less(high)} to {_less(low)}"
        if low < high and not is_clear(low, high):
            median = f"median {_less(reduction)} {words}"
            return KeyFigure(label, _NO_CLEAR_CHANGE, median, Effect.UNCLEAR)
    else:
        after = before * (1 - reduction / 100) if isinstance(reduction, (int, float)) else before
        after = round(after) if isinstance(before, int) else after
        words = f"{format_change(before)} → {format_change(after)} {_UNITS[unit]}".rstrip()
    rise = -reduction if isinstance(reduction, (int, float)) else None
    if row.get("pairs") == 1 or rise is None:
        return KeyFigure(label, change(rise), words)
    # Signs of pairs were compared above; sizes are exact.
    return KeyFigure(label, change(rise), words, effect_of(rise, (rise, rise)))


def is_clear(low: float, high: float) -> bool:
    """Return whether an interval of a difference tells its sign: it does not contain zero."""
    return not low <= 0 <= high


def effect_of(difference_pct: float | None, interval_pct: tuple[float, float] | None) -> Effect:
    """Return the effect of a difference, where less is better.

    There is none if it is shown as 0.0 %, or without an interval, as after one run. It is unclear
    if the interval contains zero. A difference without error is its own interval.
    """
    shown_pct = round(difference_pct or 0.0, 1)
    if not shown_pct or interval_pct is None:
        return Effect.NONE
    if not is_clear(*interval_pct):
        return Effect.UNCLEAR
    return Effect.BETTER if shown_pct < 0 else Effect.WORSE


def change(difference_pct: float | None) -> str:
    """Return a difference with its sign: -12.3 becomes "-12.3 %" with a minus sign."""
    if difference_pct is None:
        return UNKNOWN
    sign = "+" if round(difference_pct, 1) > 0 else ""
    return f"{sign}{shown(float(difference_pct), 1)}\N{NO-BREAK SPACE}%"


def format_change(value: float) -> str:
    """Return a number for key figures, with decimals if it is small."""
    return f"{value:,.0f}" if abs(value) >= 100 or isinstance(value, int) else f"{value:,.2f}"


def _less(reduction_pct: Value) -> str:
    return change(-reduction_pct if isinstance(reduction_pct, (int, float)) else None)
