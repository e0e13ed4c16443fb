"""How much of a workload's response is due to platform and hyperparameters together.

A random forest learns a metric from the settings of all complete runs. Over the product of the
platform's settings and the hyperparameters' settings that were tried, its prediction falls apart
into what the platform explains alone, what hyperparameters explain alone, and the rest, which is
their interaction: a functional analysis of variance with two groups of parameters, after Hutter,
Hoos and Leyton-Brown (ICML 2014). Optuna's evaluator of that kind tells the parts of single
parameters only, no interaction, and the authors' own package is not maintained; the forest is
scikit-learn's.

A forest sees some interaction everywhere, so two numbers stand beside the share: its interval,
bootstrapped over repeats, and what the same forest makes of responses that have none, the sum of
the two parts and what is left of each run, shuffled. The interaction is shown where the whole
interval is above 95 % of those.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from trimtab.records.characterization.impact import CONFIDENCE
from trimtab.records.characterization.settings import KINDS, kinds_of, settings_of

_TREES, _RESAMPLES = 16, 20
_LEAST_JOINT = 4  # configurations in which both kinds differ from the defaults


@dataclass(frozen=True)
class Interaction:
    """The shares of a metric's variance, in per cent, that add up to 100.

    `low_pct` and `high_pct` are the interval of `interaction_pct`, and `none_pct` is what a
    response without any interaction would seem to have.
    """

    metric: str
    platform_pct: float
    hyper_pct: float
    interaction_pct: float
    low_pct: float
    high_pct: float
    none_pct: float

    @property
    def is_shown(self) -> bool:
        """Whether there is one."""
        return self.low_pct > self.none_pct


def interaction(runs: pd.DataFrame, metric: str) -> Interaction | None:
    """Return the interaction of platform and hyperparameters in a metric, for one workload's runs.

    None where either kind was not varied, fewer than four configurations of both were measured, or
    the metric is the same everywhere. Raises TrimtabError where settings cannot be read.
    """
    known = runs[runs["complete"].astype(bool) & runs[metric].notna()]
    if known.loc[known["phase"] == "joint", "settings"].nunique() < _LEAST_JOINT:
        return None
    coded = {kind: _coded(known, kind) for kind in KINDS}
    if any(codes.shape[1] == 0 for codes in coded.values()):
        return None
    settings = np.hstack([coded[kind] for kind in KINDS])
    response = known[metric].to_numpy(dtype=float)
    with np.errstate(all="ignore"):  # numbers near the largest
        response = (response - response.mean()) / (response.std() or 1.0)
    if not np.isfinite(response).all() or not response.any():
        return None
    grid = _Grid(*(np.unique(coded[kind], axis=0) for kind in KINDS))
    forest = _forest(settings, response)
    predicted = grid.predicted(forest)
    shares = _shares(predicted)
    if shares is None:
        return None
    generator = np.random.default_rng(0)
    resampled = [_resampled(settings, generator) for _ in range(_RESAMPLES)]
    spread = [grid.interaction(settings[rows], response[rows]) for rows in resampled]
    sums = grid.additive(settings, predicted)
    shuffled = [sums + generator.permutation(response - sums) for _ in range(_RESAMPLES)]
    none = [grid.interaction(settings, without) for without in shuffled]
    rest = (1 - CONFIDENCE) / 2
    interval = np.quantile(spread, [rest, 1 - rest])
    every = (*shares, *interval, np.quantile(none, CONFIDENCE))
    return Interaction(metric, *(100 * float(share) for share in every))


class _Grid:
    """The product of the platform's settings and those of hyperparameters, a row each."""

    def __init__(self, platform: Any, hyper: Any) -> None:
        self.platform, self.hyper = platform, hyper
        self._rows = np.hstack(
            [np.repeat(platform, len(hyper), axis=0), np.tile(hyper, (len(platform), 1))]
        )

    def predicted(self, forest: Any) -> Any:
        """Return the prediction less its mean: platform by hyper."""
        values = forest.predict(self._rows).reshape(len(self.platform), len(self.hyper))
        return values - values.mean()

    def interaction(self, settings: Any, response: Any) -> float:
        """Return the interaction's share in what a forest learns of a response."""
        shares = _shares(self.predicted(_forest(settings, response)))
        return shares[2] if shares else 0.0

    def additive(self, settings: Any, values: Any) -> Any:
        """Return what either kind tells alone of predicted values, added up at the settings."""
        width = self.platform.shape[1]
        first = {
            tuple(row): part for row, part in zip(self.platform, values.mean(axis=1), strict=True)
        }
        second = {
            tuple(row): part for row, part in zip(self.hyper, values.mean(axis=0), strict=True)
        }
        return np.array(
            [first[tuple(row[:width])] + second[tuple(row[width:])] for row in settings]
        )


def _shares(values: Any) -> tuple[float, float, float] | None:
    """Return the shares of the platform, of hyperparameters and of both in predicted values."""
    total = (values**2).mean()
    if not total > 1e-12:  # of a response whose variance is 1
        return None
    first, second = ((values.mean(axis=axis) ** 2).mean() / total for axis in (1, 0))
    return first, second, max(0.0, 1 - first - second)


def _forest(settings: Any, response: Any) -> Any:
    return RandomForestRegressor(_TREES, random_state=0).fit(settings, response)


def _resampled(settings: Any, generator: Any) -> Any:
    """Return the numbers of as many runs of each configuration as it has, drawn among these."""
    _, which = np.unique(settings, axis=0, return_inverse=True)
    members = [np.flatnonzero(which == number) for number in range(which.max() + 1)]
    return np.concatenate([generator.choice(own, len(own)) for own in members])


def _coded(runs: pd.DataFrame, kind: str) -> Any:
    """Return the settings of a kind that differ among runs, as ranks: a row a run."""
    read = settings_of(runs)
    columns = []
    for name in sorted(name for name, of_kind in kinds_of(runs).items() if of_kind == kind):
        values = [said.get(name) for said in read]
        levels = sorted({_key(value) for value in values})
        if len(levels) > 1:
            columns.append([levels.index(_key(value)) for value in values])
    return np.array(columns, dtype=float).reshape(len(columns), len(runs)).T


def _key(value: Any) -> tuple[bool, float, str]:
    """Return what numbers are in order by, and all else by its text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number, float(value) if is_number else 0.0, "" if is_number else json.dumps(value)
