"""Interleaved runs, compared pair by pair."""

from dataclasses import dataclass

import pandas as pd

ORIGINAL, DEBLOATED = "original", "debloated"


@dataclass(frozen=True)
class Comparison:
    """A quantity under two conditions, over the pairs of runs that were interleaved.

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

    @property
    def reduction_pct(self) -> float:
        """The median pair's reduction, in per cent of the original."""
        return 100 * (1 - self.ratio)

    @property
    def reduction_low_pct(self) -> float:
        """The smallest reduction of any pair."""
        return 100 * (1 - self.ratio_high)

    @property
    def reduction_high_pct(self) -> float:
        """The largest reduction of any pair."""
        return 100 * (1 - self.ratio_low)


def compare(
    runs: pd.DataFrame, quantity: str, other: str = DEBLOATED, base: str = ORIGINAL
) -> Comparison | None:
    """Compare a column of one workload's runs (RUNS) under `other` with those under `base`.

    Only pairs in which both runs ended well and both have the quantity count; None when there
    is no such pair. Drift of a noisy machine falls on both runs of a pair, hence the ratios.
    """
    good = runs[runs["ended_well"] & runs["condition"].isin([base, other])]
    wide = good.pivot(index="repeat", columns="condition", values=quantity)
    wide = wide.reindex(columns=[base, other]).dropna()
    wide = wide[wide[base] > 0]
    if wide.empty:
        return None
    ratios = wide[other] / wide[base]
    return Comparison(
        pairs=len(wide),
        original=float(wide[base].median()),
        other=float(wide[other].median()),
        ratio=float(ratios.median()),
        ratio_low=float(ratios.min()),
        ratio_high=float(ratios.max()),
    )
