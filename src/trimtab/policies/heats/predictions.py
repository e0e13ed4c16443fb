"""HEATS' predictions of a task's run time and energy on each type of node.

Rocha's thesis, section 3.3.1: each node type has one regression for the run time and one for the
energy, trained on probing tasks. The published ones are linear in the requested cores and memory.
Any regressor of scikit-learn can be used, with GPUs and the frequency level as further features.
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UserError
from trimtab.policies.facts import Asked, ProbeRun

FEATURES = ("cores", "memory_gib", "gpus", "level")
PUBLISHED_FEATURES = ("cores", "memory_gib")
# A regression may extrapolate to 0 or below; predictions are at least this share of its smallest
# training value.
_SMALLEST_SHARE = 0.01


@dataclass(frozen=True)
class _Regression:
    regressor: Any
    at_least: float

    def predict(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        predicted = np.asarray(self.regressor.predict(rows), dtype=np.float64)
        return np.maximum(predicted, self.at_least)


@dataclass(frozen=True)
class PredictionModel:
    """The regressions of each node type, (run time, energy), and their features."""

    features: tuple[str, ...]
    regressor: str
    by_type: Mapping[str, tuple[_Regression, _Regression]]

    def predict(self, node_type: str, asked: Asked, level: int) -> tuple[float, float]:
        """Return the run time in seconds and the energy in joules of one task."""
        rows = self._rows([asked], [level])
        run_time, energy = self._of(node_type)
        return float(run_time.predict(rows)[0]), float(energy.predict(rows)[0])

    def predictions(
        self, classes: Sequence[Asked], levels: Mapping[str, int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return run times in s and energies in J, arrays [job class, node type, level].

        `levels` has the number of levels of each node type; the arrays follow its order. Entries of
        missing levels are NaN. Raises UserError for a node type without training.
        """
        shape = (len(classes), len(levels), max(levels.values(), default=1))
        run_time_s, energy_j = np.full(shape, np.nan), np.full(shape, np.nan)
        for position, (node_type, count) in enumerate(levels.items()):
            run_time, energy = self._of(node_type)
            for level in range(count):
                rows = self._rows(classes, [level] * len(classes))
                run_time_s[:, position, level] = run_time.predict(rows)
                energy_j[:, position, level] = energy.predict(rows)
        return run_time_s, energy_j

    def _of(self, node_type: str) -> tuple[_Regression, _Regression]:
        if node_type not in self.by_type:
            known = ", ".join(self.by_type)
            raise UserError(f"no predictions for node type {node_type!r}; there are: {known}")
        return self.by_type[node_type]

    def _rows(self, classes: Sequence[Asked], levels: Sequence[int]) -> NDArray[np.float64]:
        return np.array(
            [
                [float(level if name == "level" else getattr(task, name)) for name in self.features]
                for task, level in zip(classes, levels, strict=True)
            ]
        )


def by_node_type(runs: Iterable[ProbeRun]) -> dict[str, list[ProbeRun]]:
    """Return the runs of each node type, in their order."""
    found: dict[str, list[ProbeRun]] = {}
    for run in runs:
        found.setdefault(run.node_type, []).append(run)
    return found


def fit(
    observed: Mapping[str, Sequence[ProbeRun]],
    *,
    regressor: str = "linear",
    features: Sequence[str] = PUBLISHED_FEATURES,
) -> PredictionModel:
    """Return the model trained on observed probes and tasks, by node type.

    `regressor` is "linear", or the short ("RandomForestRegressor") or full name of a class of
    scikit-learn. It has its defaults, and `random_state=0` if it takes one. Without the feature
    "level", only runs at the highest observed level count. Raises UserError for an unknown
    regressor or feature, and for a node type with fewer observations than a linear regression has
    coefficients.
    """
    features = tuple(features)
    unknown = [name for name in features if name not in FEATURES]
    if unknown or not features or len(set(features)) < len(features):
        raise UserError(
            f"features: {list(features)} given, expected some of {', '.join(FEATURES)}, each once"
        )
    kind = _regressor_class(regressor)
    fitted = {
        node_type: _fit_type(node_type, observations, kind, features)
        for node_type, observations in observed.items()
    }
    return PredictionModel(features, regressor, fitted)


def enough(observations: Sequence[ProbeRun], features: Sequence[str]) -> bool:
    """Return whether `fit` has enough observations of a node type."""
    return len(counted(observations, features)) > len(features)


def _fit_type(
    node_type: str, observations: Sequence[ProbeRun], kind: Any, features: tuple[str, ...]
) -> tuple[_Regression, _Regression]:
    runs = counted(observations, features)
    if len(runs) <= len(features):
        raise UserError(
            f"node type {node_type}: {len(runs)} probes, too few for a regression over "
            f"{', '.join(features)}; it needs at least {len(features) + 1}: run"
            " `trimtab advanced probe`"
        )
    rows = np.array([[float(getattr(run, name)) for name in features] for run in runs])
    targets = np.array([run.wall_s for run in runs]), np.array([run.energy_j for run in runs])
    for key, values in zip(("wall_s", "energy_j"), targets, strict=True):
        if not ((values > 0) & np.isfinite(values)).all():
            raise UserError(f"node type {node_type}: a probe's {key} is not a number above 0")
    same_each_time = {"random_state": 0} if "random_state" in kind().get_params() else {}
    first, second = (
        _Regression(kind(**same_each_time).fit(rows, values), _SMALLEST_SHARE * float(values.min()))
        for values in targets
    )
    return first, second


def counted(observations: Sequence[ProbeRun], features: Sequence[str]) -> list[ProbeRun]:
    """Return the runs that `fit` uses: without the feature "level", those at the highest one."""
    if "level" in features:
        return list(observations)
    highest = max((run.level for run in observations), default=0)
    return [run for run in observations if run.level == highest]


def _regressor_class(name: str) -> type:
    # Every policy's module is imported, and scikit-learn takes a second: only for who predicts.
    from sklearn.base import is_regressor
    from sklearn.linear_model import LinearRegression
    from sklearn.utils import all_estimators

    if name == "linear":
        return LinearRegression  # type: ignore[no-any-return]
    if "." in name:
        module, _, attribute = name.rpartition(".")
        try:
            kind = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UserError(f"regressor: {name!r}: {error}") from None
    else:
        kind = dict(all_estimators(type_filter="regressor")).get(name)
    if not (isinstance(kind, type) and hasattr(kind, "fit") and is_regressor(kind())):
        raise UserError(
            f"regressor: {name!r} given, expected linear or a regressor of scikit-learn, for "
            "example RandomForestRegressor or sklearn.linear_model.Ridge"
        )
    return kind
