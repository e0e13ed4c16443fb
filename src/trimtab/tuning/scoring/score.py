"""The score of a configuration by an objective, from its trial's metrics."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from trimtab.config.arithmetic import calculated, names_in
from trimtab.config.groups.objective import Goal, Objective
from trimtab.config.validate import nearest
from trimtab.errors import UserError

_OF_INFERENCE = {"inference_s", "inference_j", "response_s"}  # what the inference server measures


@dataclass(frozen=True)
class Failure:
    """A trial that has no score, and why, in one line."""

    reason: str


Metrics = Mapping[str, float] | Failure  # measured beside the training, or the failure to


def of_inference(objective: Objective) -> list[str]:
    """Return the metrics in an objective's score that need a tuner of inference."""
    return [name for name in metrics_of(objective) if name in _OF_INFERENCE]


def metrics_of(objective: Objective) -> list[str]:
    """Return the metrics in all scores of an objective."""
    return sorted({name for one in scores_of(objective) for name in one.names})


def metric_of(reported: Mapping[str, float], name: str) -> float:
    """Return the program's reported metric `name`.

    Raises UserError where it reports only others.
    """
    if name not in reported:
        others = ", ".join(sorted(reported)) or "none: it reports nothing but epochs"
        raise UserError(
            f"tuning.metric (--metric): the program reports no {name!r}; "
            f"{nearest(name, reported)}expected one of {others}"
        )
    return reported[name]


def scores_of(objective: Objective) -> list["Score"]:
    """Return the score of an objective, and its others."""
    others = [
        replace(objective, score=one.score, goal=one.goal, others=[], bounds={})
        for one in objective.others
    ]
    return [Score(one) for one in (objective, *others)]


class Score:
    """The first score of an objective: higher is better; an objective to minimise is negated.

    Rocha's thesis: the accuracy (Tune V1, section 6.4.2); accuracy divided by duration (Tune V2);
    training times inference divided by accuracy, to minimise (section 7.4.4).
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self.expression = objective.score
        self.label = self.expression if objective.goal == Goal.MAXIMISE else f"-({self.expression})"
        self.names = sorted(names_in(objective.score))

    def check(self, known: Iterable[str]) -> None:
        """Raise UserError unless all metrics of the score are among the `known` ones."""
        known = sorted(known)
        for name in self.names:
            if name not in known:
                raise UserError(
                    f"objective {self._objective.name}: score: unknown metric {name!r} in "
                    f"{self._objective.score!r}; {nearest(name, known)}expected one of "
                    f"{', '.join(known) or 'none: nothing was measured'}"
                )

    def of(self, metrics: Mapping[str, float]) -> float | Failure:
        """Return the score of a trial with these metrics, in the units of their names.

        Returns a Failure where a metric of the score or the expression's value is not finite, as
        after a division by 0. Raises UserError for a missing metric.
        """
        self.check(metrics)
        for name in self.names:
            if not math.isfinite(metrics[name]):
                return Failure(f"the metric {name} is {metrics[name]}")
        try:
            value = calculated(self._objective.score, metrics)
        except (ArithmeticError, ValueError) as error:
            return self._no_value(metrics, str(error))
        if not math.isfinite(value):
            return self._no_value(metrics, f"it is {value}")
        return self.as_defined(value)

    def as_defined(self, score: float) -> float:
        """Return the value of the objective's expression, given its score."""
        return score if self._objective.goal == Goal.MAXIMISE else -score

    def _no_value(self, metrics: Mapping[str, float], problem: str) -> Failure:
        of = ", ".join(f"{name} {metrics[name]:g}" for name in self.names)
        return Failure(f"no score {self._objective.score!r} of {of}: {problem}")
