"""Tuning one level or both, at equal budget: the result of each, and whether joint tuning wins.

A strategy tries the configurations of one phase: of platform parameters, of hyperparameters, or of
both. All strategies have the same parameters: of the first two phases, only configurations count
that vary jointly varied parameters alone. Each strategy also knows the defaults. The budget is the
smallest number of configurations of any strategy, not counting strategies that tried all their
combinations. Repeatedly, as many configurations are drawn at random from each strategy. In each
draw the repeats of a configuration are resampled too, and the strategy's find is its best median.
The report has the median of the finds, and the interval that contains 95 % of them.

The choice and the evaluation of the best use the same measurements, which favours strategies with
more configurations. So joint tuning is favoured where another strategy has tried all of its
combinations.
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

# The strategies, by phase.
STRATEGIES = {"platform": "platform only", "hyper": "hyper only", "joint": "joint"}
# Each metric, and whether more is better.
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
    """The strategies' results in a metric with `budget` configurations each.

    `finds` are by phase. `single` is the single-level phase with the better find, and `change_pct`
    the difference of the joint find from it in per cent. `verdict` is better, equal where the
    interval spans zero, worse, or not shown where configurations had too few repeats.
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
    """Compare strategies on a metric of METRICS, for the runs of one workload.

    None where a strategy has no configuration, or nothing was measured at the defaults. A
    configuration whose runs all failed counts as tried, without a find.
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
        change = np.round(change, 9)  # ignores rounding by another order of sums
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
    """Return the number of possible configurations of a phase's varied parameters."""
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
    """Return the medians of resampled repeats, one per draw; NaN without values."""
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
    """Return the best median of each draw, among `budget` configurations and the defaults."""
    medians = np.stack([_medians(values, generator) for values in configurations], axis=1)
    order = generator.random(medians.shape).argsort(axis=1)
    drawn = np.take_along_axis(medians, order[:, :budget], axis=1)
    known = np.column_stack([drawn, at_defaults])
    return np.nanmax(known, axis=1) if more_is_better else np.nanmin(known, axis=1)


def _interval(values: Any) -> Interval:
    rest = (1 - CONFIDENCE) / 2
    low, middle, high = np.quantile(values, [rest, 0.5, 1 - rest])
    return Interval(float(middle), float(low), float(high))
