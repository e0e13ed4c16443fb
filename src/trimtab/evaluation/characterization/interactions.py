"""The share of a workload's response due to the interaction of platform and hyperparameters.

A random forest learns a metric from the settings of all complete runs. Its prediction over the
product of the tried platform settings and hyperparameter settings is decomposed. The parts are
explained by the platform alone, by hyperparameters alone, and by their interaction. This is a
functional analysis of variance with two groups of parameters, after Hutter, Hoos and Leyton-Brown
(ICML 2014). Optuna's evaluator gives only parts of single parameters, and the authors' own package
is not maintained; the forest is scikit-learn's.

A forest sees some interaction everywhere, so two numbers accompany the share. One is its interval,
bootstrapped over repeats. The other is the share that the same forest finds in responses without
interaction: the sum of the two parts, plus shuffled residuals of the runs. The interaction is shown
where the whole interval is above 95 % of these shares.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trimtab.records.characterization.impact import CONFIDENCE
from trimtab.records.characterization.settings import KINDS, kinds_of, settings_of

_TREES, _RESAMPLES = 16, 20
_LEAST_JOINT = 4  # configurations with both kinds changed from the defaults


@dataclass(frozen=True)
class Interaction:
    """The shares of a metric's variance, in per cent, that add up to 100.

    `low_pct` and `high_pct` are the interval of `interaction_pct`. `none_pct` is the apparent share
    of a response without any interaction.
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
        """Whether the interaction is significant."""
        return self.low_pct > self.none_pct


def interaction(runs: pd.DataFrame, metric: str) -> Interaction | None:
    """Return the interaction of platform and hyperparameters in a metric, for one workload's runs.

    None where either kind was not varied, fewer than four configurations of both were measured, or
    the metric is constant. Raises TrimtabError where settings cannot be read.
    """
    known = runs[runs["complete"].astype(bool) & runs[metric].notna()]
    if known.loc[known["phase"] == "joint", "settings"].nunique() < _LEAST_JOINT:
        return None
    coded = {kind: _coded(known, kind) for kind in KINDS}
    if any(codes.shape[1] == 0 for codes in coded.values()):
        return None
    settings = np.hstack([coded[kind] for kind in KINDS])
    response = known[metric].to_numpy(dtype=float)
    with np.errstate(all="ignore"):  # numbers near overflow
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
    """The product of platform settings and hyperparameter settings, one row each."""

    def __init__(self, platform: Any, hyper: Any) -> None:
        self.platform, self.hyper = platform, hyper
        self._rows = np.hstack(
            [np.repeat(platform, len(hyper), axis=0), np.tile(hyper, (len(platform), 1))]
        )

    def predicted(self, forest: Any) -> Any:
        """Return the prediction minus its mean, [platform, hyper]."""
        values = forest.predict(self._rows).reshape(len(self.platform), len(self.hyper))
        return values - values.mean()

    def interaction(self, settings: Any, response: Any) -> float:
        """Return the interaction's share in a forest's model of a response."""
        shares = _shares(self.predicted(_forest(settings, response)))
        return shares[2] if shares else 0.0

    def additive(self, settings: Any, values: Any) -> Any:
        """Return the sum of both kinds' main effects of predicted values, at the settings."""
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
    if not total > 1e-12:  # for a response of variance 1
        return None
    first, second = ((values.mean(axis=axis) ** 2).mean() / total for axis in (1, 0))
    return first, second, max(0.0, 1 - first - second)


def _forest(settings: Any, response: Any) -> Any:
    from sklearn.ensemble import RandomForestRegressor  # a second, that most reports do without

    return RandomForestRegressor(_TREES, random_state=0).fit(settings, response)


def _resampled(settings: Any, generator: Any) -> Any:
    """Return bootstrapped run numbers: as many of each configuration as it has."""
    _, which = np.unique(settings, axis=0, return_inverse=True)
    members = [np.flatnonzero(which == number) for number in range(which.max() + 1)]
    return np.concatenate([generator.choice(own, len(own)) for own in members])


def _coded(runs: pd.DataFrame, kind: str) -> Any:
    """Return the varied settings of a kind as ranks, one row per run."""
    read = settings_of(runs)
    columns = []
    for name in sorted(name for name, of_kind in kinds_of(runs).items() if of_kind == kind):
        values = [said.get(name) for said in read]
        levels = sorted({_key(value) for value in values})
        if len(levels) > 1:
            columns.append([levels.index(_key(value)) for value in values])
    return np.array(columns, dtype=float).reshape(len(columns), len(runs)).T


def _key(value: Any) -> tuple[bool, float, str]:
    """Return a sort key: numbers by value, all else by text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number, float(value) if is_number else 0.0, "" if is_number else json.dumps(value)
