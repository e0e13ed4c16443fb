"""Medians of repeated runs, with intervals that assume nothing of their distribution.

The interval of a median is between two order statistics (David and Nagaraja, "Order Statistics",
3rd edition, section 7.1): the median of the population lies between the k-th smallest and the
k-th largest of n values with probability 1 - 2 P(B < k), B binomial with n tries of 1/2. It is
exact for small n, where a bootstrap of a median is not. Below 6 values even the whole range falls
short of 95 %: 5 give 93.75 %, 3 give 75 %; `confidence` says which it is.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from trimtab.errors import TrimtabError

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Spread:
    """The median of some values, their range, and the median's interval."""

    median: float
    minimum: float
    maximum: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios after / before of interleaved pairs, with its interval."""

    median: float
    low: float
    high: float
    confidence: float


def spread(values: Sequence[float]) -> Spread:
    """Return median, range and the median's interval of at least one value.

    Raises TrimtabError when there is none.
    """
    if not values:
        raise TrimtabError("no values to take a median of")
    ordered = sorted(values)
    count = len(ordered)
    rank, outside = 1, 2.0 * 0.5**count
    # The narrowest interval that still holds the median often enough; at least the whole range.
    while (wider := outside + 2 * comb(count, rank) * 0.5**count) <= 1 - _CONFIDENCE:
        rank, outside = rank + 1, wider
    return Spread(
        statistics.median(ordered),
        ordered[0],
        ordered[-1],
        ordered[rank - 1],
        ordered[-rank],
        1 - outside,
    )


def paired_ratio(before: Sequence[float], after: Sequence[float]) -> Ratio:
    """Return the median of after / before over runs that were interleaved in pairs.

    Raises TrimtabError when the lists differ in length, are empty, or a `before` is not positive.
    """
    if len(before) != len(after):
        raise TrimtabError(f"{len(before)} values before and {len(after)} after are not pairs")
    if any(not value > 0 for value in before):
        raise TrimtabError(f"no ratio to a value that is not positive: {list(before)}")
    ratios = spread([late / early for early, late in zip(before, after, strict=True)])
    return Ratio(ratios.median, ratios.low, ratios.high, ratios.confidence)
