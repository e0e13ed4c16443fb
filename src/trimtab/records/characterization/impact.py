"""The impact of one parameter on a workload, and whether it is significant.

A parameter's impact on a metric is the largest relative change of the metric's median between one
tried level and the defaults, everything else equal (Rocha's thesis, section 5.3.1). The thesis has
no uncertainty; here each change has a 95 % interval, bootstrapped over repeats by their
percentiles. A change whose interval spans zero is no change. A parameter's impact lies between the
largest of its changes' least magnitudes and the largest of their greatest. If this range lies
between two published limits, the impact is named after them; otherwise it is "not shown".
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trimtab.records.characterization.settings import KINDS, settings_of, varied_in

# Fewer repeats give no interval. With three, two equal settings seem different in one case of ten:
# then no run of one lies among the runs of the other.
LEAST_REPEATS = 3
CONFIDENCE = 0.95
_RESAMPLES = 1000

HIGH, MEDIUM, LOW, NONE, NOT_SHOWN = "high", "medium", "low", "none", "not shown"


@dataclass(frozen=True)
class ImpactThresholds:
    """The changes, in per cent, from which an impact is medium or high."""

    medium_pct: float
    high_pct: float


# Figure 5.6 has the first two, Figure 5.7 the last.
LIMITS = {
    "train_s": ImpactThresholds(medium_pct=10, high_pct=20),
    "inference_records_per_s": ImpactThresholds(medium_pct=10, high_pct=20),
    "quality": ImpactThresholds(medium_pct=1, high_pct=5),
}


@dataclass(frozen=True)
class MedianChange:
    """The change in per cent of a metric's median at a `level`, relative to the defaults.

    The level is a value as JSON. `low_pct` and `high_pct` are the ends of its interval, None with
    too few repeats.
    """

    level: str
    change_pct: float
    low_pct: float | None
    high_pct: float | None

    @property
    def least_pct(self) -> float:
        """The least possible magnitude: 0 if the interval spans zero."""
        if self.low_pct is None or self.high_pct is None or self.low_pct <= 0 <= self.high_pct:
            return 0.0
        return min(abs(self.low_pct), abs(self.high_pct))

    @property
    def most_pct(self) -> float:
        """The greatest possible magnitude: infinite without an interval."""
        if self.low_pct is None or self.high_pct is None:
            return float("inf")
        return max(abs(self.low_pct), abs(self.high_pct))


@dataclass(frozen=True)
class Impact:
    """The impact of a parameter of a `kind`, platform or hyper, on a metric of a workload.

    `changes` has one change for each level that can be compared with the defaults.
    """

    workload: str
    kind: str
    parameter: str
    metric: str
    changes: tuple[MedianChange, ...]

    @property
    def largest(self) -> MedianChange | None:
        """The change with the greatest magnitude."""
        return max(self.changes, key=lambda change: abs(change.change_pct), default=None)

    @property
    def size_pct(self) -> float:
        """The magnitude of the largest change, significant or not."""
        return 0.0 if self.largest is None else abs(self.largest.change_pct)

    @property
    def least_pct(self) -> float:
        """The least possible magnitude."""
        return max((change.least_pct for change in self.changes), default=0.0)

    @property
    def matters(self) -> bool:
        """Whether the impact is significantly medium or high."""
        return self.least_pct >= LIMITS[self.metric].medium_pct

    @property
    def word(self) -> str:
        """The size of the impact: high, medium, low, none, or not shown."""
        if not self.changes:
            return NOT_SHOWN
        least = self.least_pct
        most = max(change.most_pct for change in self.changes)
        limits = LIMITS[self.metric]
        if least > limits.high_pct:
            return HIGH
        if least >= limits.medium_pct and most <= limits.high_pct:
            return MEDIUM
        if most < limits.medium_pct:
            return LOW if least > 0 else NONE
        return NOT_SHOWN


def impacts(runs: pd.DataFrame) -> list[Impact]:
    """Return the impact of each parameter that was varied alone, on each metric of LIMITS.

    `runs` has the columns of CHARACTERIZATION_RUNS; incomplete runs and missing values are ignored.
    Raises TrimtabError for invalid settings.
    """
    return [
        impact
        for workload, own in runs.assign(_settings=settings_of(runs)).groupby(
            "workload", sort=False
        )
        for impact in _of_workload(str(workload), own)
    ]


def without_impact(runs: pd.DataFrame) -> list[str]:
    """Return the parameters of low or no impact on every metric of every workload in `runs`.

    Parameters whose impact is not shown are left out. Raises as `impacts`.
    """
    words: dict[str, set[str]] = {}
    for impact in impacts(runs):
        words.setdefault(impact.parameter, set()).add(impact.word)
    return [name for name, said in words.items() if said <= {LOW, NONE}]


def _of_workload(workload: str, runs: pd.DataFrame) -> Iterator[Impact]:
    defaults = runs[runs["phase"] == "defaults"]
    alone = runs[runs["phase"].isin(KINDS) & (runs["varied"].map(varied_in).map(len) == 1)]
    for (kind, parameter), own in alone.groupby(["phase", "varied"], sort=False):
        levels = own.groupby(
            own["_settings"].map(lambda said, name=parameter: json.dumps(said[name]))
        )
        for metric in LIMITS:
            found = (
                _change(level, _values(of_it, metric), _values(defaults, metric))
                for level, of_it in levels
            )
            changes = tuple(change for change in found if change is not None)
            yield Impact(workload, str(kind), str(parameter), metric, changes)


def _values(runs: pd.DataFrame, metric: str) -> list[float]:
    """Return a metric of the complete runs, sorted: the order of repeats does not matter."""
    values = runs.loc[runs["complete"].astype(bool), metric].dropna()
    return sorted(values.astype(float))


def _change(level: str, values: Sequence[float], defaults: Sequence[float]) -> MedianChange | None:
    """Return the change, or None without values, or without a reference."""
    from scipy.stats import bootstrap  # here, as it takes long to import

    if not values or not defaults:
        return None
    with np.errstate(all="ignore"):  # a median of 0, or numbers near the largest
        change_pct = float(_change_pct(np.asarray(values), np.asarray(defaults)))
        if not np.isfinite(change_pct):
            return None
        if min(len(values), len(defaults)) < LEAST_REPEATS:
            return MedianChange(level, change_pct, None, None)
        interval = bootstrap(
            (values, defaults), _change_pct, n_resamples=_RESAMPLES, method="percentile",
            vectorized=True, confidence_level=CONFIDENCE, rng=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
    if not np.isfinite([interval.low, interval.high]).all():
        return MedianChange(level, change_pct, None, None)
    return MedianChange(level, change_pct, float(interval.low), float(interval.high))


def _change_pct(values: Any, defaults: Any, axis: int = -1) -> Any:
    before = np.median(defaults, axis=axis)
    change_pct = 100 * (np.median(values, axis=axis) - before) / np.abs(before)
    return np.round(change_pct, 9)  # the order of a sum must not be a change
