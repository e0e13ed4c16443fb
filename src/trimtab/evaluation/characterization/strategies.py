"""Tuning one level or both, at equal budget: what each finds, and whether both find more.

A strategy tries the configurations of one phase: of platform parameters, of hyperparameters, or of
both together. All are given the same parameters: of the first two those configurations count that
vary nothing but what was varied together. Each knows the defaults beside. The budget is what the
strategy with the fewest configurations has; one that has tried all that there are of its parameters
does not count, as it needs no more. Of the others as many are drawn at random, again and again. In
each draw the repeats of a configuration are resampled too, and the strategy's find is its
best median: what is reported is the median of the finds and the interval in which 95 % of them lie.
The best is chosen by what was measured of it, from which a strategy with more configurations gains
more: where one has tried all that it has, joint tuning is favoured by chance too.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trimtab.records.characterization.impact import CONFIDENCE, LEAST_REPEATS, NOT_SHOWN
from trimtab.records.characterization.settings import settings_of, varied_in

# By phase: what the strategy tunes.
STRATEGIES = {"platform": "platform only", "hyper": "hyper only", "joint": "joint"}
# Each metric, and whether more of it is better.
METRICS = {"train_s": False, "inference_records_per_s": True, "quality": True}
BETTER, EQUAL, WORSE = "better", "equal", "worse"
_DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A median, and the ends of the interval around it."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class StrategyComparison:
    """What strategies find of a metric with so many configurations each, the `budget`.

    `finds` are by phase. `single` is the phase of one level whose find is the better, and
    `change_pct` by how many per cent the joint one's find is above that. `verdict` is better, equal
    where the interval spans zero, worse, or not shown where configurations had too few repeats.
    """

    metric: str
    budget: int
    finds: dict[str, Interval]
    single: str
    change_pct: Interval
    verdict: str

    @property
    def is_reached(self) -> bool:
        """Whether joint tuning is better or equal."""
        return self.verdict in (BETTER, EQUAL)


def compare(runs: pd.DataFrame, metric: str) -> StrategyComparison | None:
    """Return how strategies compare on a metric of METRICS, for the runs of one workload.

    None where a strategy has no configuration, or nothing was measured at the defaults. A
    configuration all of whose runs failed is tried, and finds nothing.
    """
    more_is_better = METRICS[metric]
    defaults = _measured(runs[runs["phase"] == "defaults"], metric)
    joint = runs.loc[runs["phase"] == "joint", "varied"]
    together = {name for varied in joint for name in varied_in(varied)}
    of_these = runs["varied"].map(lambda varied: together.issuperset(varied_in(varied)))
    runs = runs[of_these.astype(bool)]
    tried = {
        phase: [
            _measured(of_it, metric)
            for _, of_it in runs[runs["phase"] == phase].groupby("settings")
        ]
        for phase in STRATEGIES
    }
    if not all(tried.values()) or not defaults:
        return None
    sizes = [len(configurations) for configurations in tried.values()]
    unspent = [len(one) for phase, one in tried.items() if len(one) < _possible(runs, phase)]
    budget = min(unspent, default=max(sizes))
    generator = np.random.default_rng(0)
    at_defaults = _medians(defaults, generator)
    found = {
        phase: _best(configurations, budget, at_defaults, more_is_better, generator)
        for phase, configurations in tried.items()
    }
    middle = {phase: float(np.median(finds)) for phase, finds in found.items()}
    single = (max if more_is_better else min)(("platform", "hyper"), key=lambda key: middle[key])
    with np.errstate(all="ignore"):
        change = 100 * (found["joint"] - found[single]) / np.abs(found[single])
        change = np.round(change, 9)  # sums in another order are no change
    if not np.isfinite(change).all():
        return None
    change_pct = _interval(change)
    every = [defaults, *(one for configurations in tried.values() for one in configurations)]
    return StrategyComparison(
        metric,
        budget,
        {phase: _interval(finds) for phase, finds in found.items()},
        single,
        change_pct,
        NOT_SHOWN
        if any(0 < len(one) < LEAST_REPEATS for one in every)
        else _verdict(change_pct, more_is_better),
    )


def _possible(runs: pd.DataFrame, phase: str) -> int:
    """Return how many configurations the levels have of the parameters that a phase varies."""
    names = {name for varied in runs.loc[runs["phase"] == phase, "varied"]
             for name in varied_in(varied)}  # fmt: skip
    settings = settings_of(runs)
    levels = [{json.dumps(said[name]) for said in settings if name in said} for name in names]
    return math.prod(map(len, levels)) - 1


def _verdict(change: Interval, more_is_better: bool) -> str:
    if change.low <= 0 <= change.high:
        return EQUAL
    return BETTER if (change.median > 0) == more_is_better else WORSE


def _measured(runs: pd.DataFrame, metric: str) -> list[float]:
    values = runs.loc[runs["complete"].astype(bool), metric].dropna()
    return sorted(values.astype(float))


def _medians(values: Sequence[float], generator: Any) -> Any:
    """Return the medians of resampled repeats, one a draw; of nothing, NaN."""
    if not values:
        return np.full(_DRAWS, np.nan)
    chosen = generator.integers(0, len(values), (_DRAWS, len(values)))
    return np.median(np.asarray(values)[chosen], axis=1)


def _best(
    configurations: Sequence[Sequence[float]],
    budget: int,
    at_defaults: Any,
    more_is_better: bool,
    generator: Any,
) -> Any:
    """Return the best median of each draw, among so many configurations and the defaults."""
    medians = np.stack([_medians(values, generator) for values in configurations], axis=1)
    order = generator.random(medians.shape).argsort(axis=1)
    drawn = np.take_along_axis(medians, order[:, :budget], axis=1)
    known = np.column_stack([drawn, at_defaults])
    return np.nanmax(known, axis=1) if more_is_better else np.nanmin(known, axis=1)


def _interval(values: Any) -> Interval:
    rest = (1 - CONFIDENCE) / 2
    low, middle, high = np.quantile(values, [rest, 0.5, 1 - rest])
    return Interval(float(middle), float(low), float(high))
