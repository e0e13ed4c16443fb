"""The key figures of the report."""

from dataclasses import dataclass, replace
from enum import StrEnum

from trimtab.evaluation.report.changes import NO_CHANGE, Effect, effect_of
from trimtab.evaluation.report.tables import UNKNOWN, Row, Value, shown

_UNITS = {"": "", "mb": "MB", "s": "s", "j": "J"}


class About(StrEnum):
    """The subjects of the strip on page one, in its order."""

    SIZE = "size"
    START = "start"
    RESPONSE = "response"
    ENERGY = "energy"
    EURO = "EUR"
    CARBON = "CO2e"
    RUN_TIME = "run time"
    PACKED = "compressed size"
    MEMORY = "memory"
    TUNING = "tuning"


@dataclass(frozen=True)
class KeyFigure:
    """A change in per cent, with its subject and both values.

    `also` are further figures of the same subject, on the same card, below the card's `title`.
    What is `about` a subject of page one may stand there.
    """

    label: str
    change: str
    detail: str
    effect: Effect = Effect.NONE
    title: str = ""
    also: tuple["KeyFigure", ...] = ()
    about: About | None = None

    @property
    def overall(self) -> Effect:
        """The effect of all figures of the card; none where one is better and another worse."""
        effects = {self.effect, *(figure.effect for figure in self.also)}
        return Effect.NONE if {Effect.BETTER, Effect.WORSE} <= effects else self.effect

    @property
    def parts(self) -> tuple["KeyFigure", ...]:
        """Every figure of the card, on its own, under the card's title."""
        return (replace(self, also=()), *(replace(each, title=self.title) for each in self.also))

    @property
    def card(self) -> "KeyFigure | None":
        """The card with the figures that are shown; None without any."""
        shown = [each for each in self.parts if each.effect.is_shown and each.change != UNKNOWN]
        if not shown:
            return None
        also = tuple(replace(each, title="") for each in shown[1:])
        return replace(shown[0], also=also)


def less(label: str, row: Row, stem: str, unit: str = "") -> KeyFigure:
    """Return a row's key figure of `stem`: before and after, or the pairs' lowest and highest.

    The row's keys are `stem`_`unit`, `stem`_reduction_pct and so on. Pairs with different signs
    give no clear change, and a single pair has no effect.
    """
    before = row.get(f"{stem}_{unit}" if unit else stem)
    if not isinstance(before, (int, float)):
        return KeyFigure(label, UNKNOWN, "not measured")
    reduction, low, high = (row.get(f"{stem}_reduction{end}_pct") for end in ("", "_low", "_high"))
    interval: tuple[float, float] | None = None
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        words = f"of {format_change(before)} {_UNITS[unit]}; pairs {_less(high)} to {_less(low)}"
        interval = (-high, -low) if row.get("pairs") != 1 else None
    else:
        after = before * (1 - reduction / 100) if isinstance(reduction, (int, float)) else before
        after = round(after) if isinstance(before, int) else after
        words = f"{format_change(before)} → {format_change(after)} {_UNITS[unit]}".rstrip()
        interval = (-reduction, -reduction) if isinstance(reduction, (int, float)) else None
    rise = -reduction if isinstance(reduction, (int, float)) else None
    return difference(label, rise, interval, words)


def difference(
    label: str, pct: float | None, interval_pct: tuple[float, float] | None, words: str
) -> KeyFigure:
    """Return the key figure of a difference in per cent, or of none: `effect_of` decides.

    `words` are its values.
    """
    effect = effect_of(pct, interval_pct)
    if effect is Effect.UNCLEAR:
        return KeyFigure(label, NO_CHANGE, f"{change(pct)}; {words}", effect)
    return KeyFigure(label, change(pct), words, effect)


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
