"""Keeping HEATS' model up to date with what tasks really took (Rocha's thesis, section 3.3.3).

What has ended is kept for a sliding window, with what was predicted of it. When the model is
trained again, those that it predicted well are filtered out, and the rest alone is learnt from. A
node type with too little left for a regression keeps the one it has.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from trimtab.errors import UserError
from trimtab.policies.facts import ProbeRun
from trimtab.policies.heats.predictions import PredictionModel, by_node_type, enough, fit

DAY_S = 86_400.0


@dataclass(frozen=True)
class Finished:
    """A task that has ended: when, what it took where, and what was predicted of that."""

    end_s: float
    actual: ProbeRun
    predicted_run_time_s: float
    predicted_energy_j: float

    @property
    def error(self) -> float:
        """The larger of both predictions' errors, relative to what the task really took."""
        return max(
            abs(self.predicted_run_time_s - self.actual.wall_s) / self.actual.wall_s,
            abs(self.predicted_energy_j - self.actual.energy_j) / self.actual.energy_j,
        )


def retrained(
    model: PredictionModel, finished: Iterable[Finished], *, error_threshold: float
) -> PredictionModel:
    """Return `model` with the regressions of each node type trained on what it predicted badly.

    Tasks whose error is below `error_threshold` (a share, 0.1 for 10 %) are left out.
    """
    badly = by_node_type(task.actual for task in finished if not task.error < error_threshold)
    learnt = {name: tasks for name, tasks in badly.items() if enough(tasks, model.features)}
    again = fit(learnt, regressor=model.regressor, features=model.features)
    return replace(model, by_type={**model.by_type, **again.by_type})


class SlidingWindow:
    """The tasks that ended within the last `window_s`; memory holds these alone."""

    def __init__(self, window_s: float = DAY_S) -> None:
        """Raise UserError unless `window_s` is above 0."""
        if not window_s > 0:
            raise UserError(f"window_s: {window_s} is not a time above 0 s")
        self.window_s = window_s
        self._finished: deque[Finished] = deque()

    def __len__(self) -> int:
        return len(self._finished)

    def record(self, task: Finished) -> None:
        """Add a task; tasks come in the order of their end."""
        self._finished.append(task)
        self._forget(task.end_s)

    def finished(self, now_s: float) -> list[Finished]:
        """Return the tasks that ended after `now_s - window_s`, oldest first."""
        self._forget(now_s)
        return list(self._finished)

    def _forget(self, now_s: float) -> None:
        while self._finished and self._finished[0].end_s <= now_s - self.window_s:
            self._finished.popleft()
