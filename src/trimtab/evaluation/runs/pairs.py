"""Comparison of interleaved runs, pair by pair."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd

from trimtab.evaluation.report.tables import Column, Value

ORIGINAL, DEBLOATED = "original", "debloated"


@dataclass(frozen=True)
class PairedComparison:
    """A quantity under two conditions, over pairs of interleaved runs.

    `original` (or another base) and `other` are medians in the quantity's unit. `ratio` is the
    median of other / original over the pairs, `ratio_low` and `ratio_high` the smallest and the
    largest.
    """

    pairs: int
    original: float
    other: float
    ratio: float
    ratio_low: float
    ratio_high: float

    def reduction(self, stem: str) -> dict[str, Value]:
        """Return the cells of `spread_column`: the reduction by `other` in per cent."""
        ratios = (self.ratio, self.ratio_high, self.ratio_low)
        return _spread(stem, (100 * (1 - ratio) for ratio in ratios))

    def increase(self, stem: str) -> dict[str, Value]:
        """Return the cells of `spread_column`: the increase by `other` in per cent."""
        ratios = (self.ratio, self.ratio_low, self.ratio_high)
        return _spread(stem, (100 * (ratio - 1) for ratio in ratios))


def spread_column(stem: str, heading: str) -> Column:
    """Return the column of the median pair's change in per cent, with the extremes of all pairs."""
    middle, *ends = _spread(stem, (None, None, None))
    return Column(middle, heading, 1, (ends[0], ends[1]), is_difference=True)


def _spread(stem: str, values: Iterable[Value]) -> dict[str, Value]:
    return dict(zip((f"{stem}_pct", f"{stem}_low_pct", f"{stem}_high_pct"), values, strict=True))


def compare(
    runs: pd.DataFrame, quantity: str, other: str = DEBLOATED, base: str = ORIGINAL
) -> PairedComparison | None:
    """Compare a column of one workload's runs (RUNS) under `other` with those under `base`.

    Only pairs of two successful runs with the quantity count; None without such a pair. Ratios are
    used because drift of a noisy machine affects both runs of a pair.
    """
    good = runs[runs["ended_well"] & runs["condition"].isin([base, other])]
    wide = good.pivot(index="repeat", columns="condition", values=quantity)
    wide = wide.reindex(columns=[base, other]).dropna()
    return compare_pairs([*wide.astype(float).itertuples(index=False, name=None)])


def compare_pairs(pairs: Sequence[tuple[float, float]]) -> PairedComparison | None:
    """Compare pairs of a base and another value; None without a pair whose base is above 0."""
    counted = [(base, other) for base, other in pairs if base > 0]
    if not counted:
        return None
    ratios = [other / base for base, other in counted]
    bases, others = zip(*counted, strict=True)
    return PairedComparison(
        pairs=len(counted),
        original=median(bases),
        other=median(others),
        ratio=median(ratios),
        ratio_low=min(ratios),
        ratio_high=max(ratios),
    )
