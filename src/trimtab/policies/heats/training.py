"""HEATS' predictions: trained on probing runs, and retrained while jobs finish.

Rocha's thesis, section 3.3.3: finished tasks are kept for a sliding window, with their predictions.
Retraining uses only tasks that were predicted badly. A node type with too few of them keeps its
regressions.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.clusters.cluster import NodeType
from trimtab.errors import UserError
from trimtab.policies.facts import Asked, PolicyInputs, ProbeRun, active_w
from trimtab.policies.heats.policy import Heats
from trimtab.policies.heats.predictions import (
    PUBLISHED_FEATURES,
    PredictionModel,
    by_node_type,
    enough,
    fit,
)


@dataclass(frozen=True)
class HeatsParameters:
    """The keys of a YAML of the kind `heats`.

    `energy_weight` is H, or `random`: a random one for each job. `regressor` is a name for
    predictions.fit. With `choose_level` the frequency level is a feature besides cores and memory.
    `set_up_in_score` adds image pull and cold start to predictions. With `idle_in_energy` a task's
    energy includes its cores' share of the node's idle power, which the thesis' probing leaves out
    (figure 3.3). Every `maintenance_s` the model is retrained on the tasks of the last `window_s`
    whose predictions were wrong by `error_threshold`.
    """

    energy_weight: float | str = 1.0
    tick_s: float = 60.0
    regressor: str = "linear"
    choose_level: bool = False
    set_up_in_score: bool = False
    idle_in_energy: bool = False
    migration_gain: float = 0.0
    restarts_moved: bool = False
    maintenance_s: float | None = None
    window_s: float = 86_400.0
    error_threshold: float = 0.1

    def __post_init__(self) -> None:
        if isinstance(self.energy_weight, str) and self.energy_weight != "random":
            raise UserError(
                f"heats: energy_weight: {self.energy_weight!r} given, expected 0 to 1, or random"
            )
        if self.maintenance_s is not None and not self.maintenance_s > 0:
            raise UserError(f"heats: maintenance_s: {self.maintenance_s} is not above 0 s")
        if not self.window_s > 0:
            raise UserError(f"heats: window_s: {self.window_s} is not above 0 s")


def train(facts: PolicyInputs, given: HeatsParameters) -> PredictionModel:
    """Return the regressions of each node type, trained on the probing runs."""
    features = list(PUBLISHED_FEATURES)
    if any(asked.gpus for asked in facts.asked):
        features.append("gpus")
    if given.choose_level:
        features.append("level")
    return fit(by_node_type(facts.probes), regressor=given.regressor, features=features)


def from_model(
    model: PredictionModel,
    facts: PolicyInputs,
    given: HeatsParameters,
    maintenance: Callable[[pd.DataFrame, float], Heats] | None = None,
) -> Heats:
    """Return the policy that places tasks by the predictions of `model`, with `maintenance`.

    Predictions are longer, at the same power, where a task runs in an enclave.
    """
    levels = {kind.name: len(kind.levels) for kind in facts.cluster.node_types}
    run_time_s, energy_j = model.predictions(facts.asked, levels)
    longer = _protection(facts)[:, :, np.newaxis]
    run_time_s, energy_j = run_time_s * longer, energy_j * longer
    if given.idle_in_energy:
        energy_j = energy_j + run_time_s * _idle_w(facts)[:, :, np.newaxis]
    set_up_s, set_up_j = _set_up_costs(facts) if given.set_up_in_score else (None, None)
    return Heats(
        run_time_s,
        energy_j,
        facts.levels,
        energy_weight=1.0 if isinstance(given.energy_weight, str) else given.energy_weight,
        weight_seed=facts.seed if isinstance(given.energy_weight, str) else None,
        choose_level=given.choose_level,
        migration_gain=given.migration_gain,
        restarts_moved=given.restarts_moved,
        tick_s=given.tick_s,
        set_up_s=set_up_s,
        set_up_j=set_up_j,
        maintain_s=math.inf if given.maintenance_s is None else given.maintenance_s,
        maintenance=maintenance,
    )


@dataclass(frozen=True)
class Finished:
    """A finished task: its end, its cost on its node, and the prediction."""

    end_s: float
    actual: ProbeRun
    predicted_run_time_s: float
    predicted_energy_j: float

    @property
    def error(self) -> float:
        """The larger of both predictions' errors, relative to the real cost."""
        return max(
            abs(self.predicted_run_time_s - self.actual.wall_s) / self.actual.wall_s,
            abs(self.predicted_energy_j - self.actual.energy_j) / self.actual.energy_j,
        )


def retrained(
    model: PredictionModel, finished: Iterable[Finished], *, error_threshold: float
) -> PredictionModel:
    """Return `model` with regressions retrained on badly predicted tasks.

    Tasks with an error below `error_threshold` (a share, 0.1 for 10 %) are left out.
    """
    badly = by_node_type(task.actual for task in finished if not task.error < error_threshold)
    learnt = {name: tasks for name, tasks in badly.items() if enough(tasks, model.features)}
    again = fit(learnt, regressor=model.regressor, features=model.features)
    return replace(model, by_type={**model.by_type, **again.by_type})


class Maintenance:
    """Retrains `model` on finished jobs, when the policy calls it."""

    def __init__(self, model: PredictionModel, facts: PolicyInputs, given: HeatsParameters) -> None:
        self._model, self._facts, self._given = model, facts, given
        self._finished: list[Finished] = []
        types = facts.cluster.type_of_node
        self._type_names = [facts.cluster.node_types[number].name for number in types]
        names = (job_class.name for job_class in facts.job_classes)
        self._asked = dict(zip(names, facts.asked, strict=True))
        self._classes = {job_class.name: job_class for job_class in facts.job_classes}

    def __call__(self, finished: pd.DataFrame, now_s: float) -> Heats:
        """Return the next policy, after `finished` (SCHEDULED) at the time `now_s`."""
        rows: Any = finished.itertuples()
        for row in rows:
            # The cost of a moved or restarted job is spread over several nodes.
            whole = row.evictions == 0 and row.migrations == 0
            if whole and row.execution_s > row.set_up_s and row.energy_j > 0:
                self._finished.append(self._what_it_took(row))
        since_s = now_s - self._given.window_s
        self._finished = [task for task in self._finished if task.end_s > since_s]
        threshold = self._given.error_threshold
        self._model = retrained(self._model, self._finished, error_threshold=threshold)
        return from_model(self._model, self._facts, self._given, maintenance=self)

    def _what_it_took(self, row: Any) -> Finished:
        node_type, asked = self._type_names[row.node], self._asked[row.job_class]
        # The model predicts unprotected tasks; the known cost of protection is added.
        longer = self._classes[row.job_class].protected(node_type)
        wall_s, energy_j = (row.execution_s - row.set_up_s) / longer, row.energy_j / longer
        actual = ProbeRun(
            node_type, asked.cores, asked.memory_gib, row.level, wall_s, energy_j, asked.gpus
        )
        return Finished(row.finish_s, actual, *self._model.predict(node_type, asked, row.level))


def _protection(facts: PolicyInputs) -> NDArray[np.float64]:
    """Return the slowdown of protected tasks, by class and node type.

    1 where the class never runs: that prediction is not read.
    """
    factors = np.array(
        [
            [job_class.protected(kind.name) for kind in facts.cluster.node_types]
            for job_class in facts.job_classes
        ]
    )
    return np.where(np.isfinite(factors), factors, 1.0)


def _idle_w(facts: PolicyInputs) -> NDArray[np.float64]:
    """Return a task's share of the idle power of a node, by class and node type.

    The share is the larger of its shares of cores and GPUs.
    """
    return np.array(
        [
            [kind.idle_w * _share(asked, kind) for kind in facts.cluster.node_types]
            for asked in facts.asked
        ]
    )


def _share(asked: Asked, node_type: NodeType) -> float:
    of_gpus = 1000 * asked.gpus / node_type.gpu_milli if node_type.gpu_milli else 0.0
    return max(1000 * asked.cores / node_type.cpu_milli, of_gpus)


def _set_up_costs(facts: PolicyInputs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return seconds and joules of image pull and cold start, [image is there, class, type].

    A pull draws nothing above idle; a cold start draws the job's power at the highest level.
    """
    shape = (2, len(facts.job_classes), len(facts.cluster.node_types))
    seconds, joules = np.zeros(shape), np.zeros(shape)
    for row, (job_class, asked) in enumerate(zip(facts.job_classes, facts.asked, strict=True)):
        for column, node_type in enumerate(facts.cluster.node_types):
            highest = len(node_type.levels) - 1
            watts = active_w(node_type, job_class, asked.cores, asked.gpus, highest)
            seconds[:, row, column] = job_class.cold_start_s
            seconds[0, row, column] += job_class.image_bytes / node_type.network_bytes_per_s
            joules[:, row, column] = job_class.cold_start_s * watts
    return seconds, joules
