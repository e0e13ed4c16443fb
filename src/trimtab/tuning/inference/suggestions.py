"""The inference configurations of an architecture to measure, one after the other."""

from collections.abc import Mapping, Sequence

from trimtab.config.groups.tuning import Kind
from trimtab.records.tuning.inference import MeasuredInference
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.inference.choice import Setting, Wanted, cost
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.study import NothingLeftError, Study

_BUDGET = Budget(1)  # the same for all: inference is measured in full
_MOST_REPEATS = 50  # consecutive suggestions of measured configurations


class Suggestions:
    """The configurations that a study suggests, each once; it first learns the known ones."""

    def __init__(self, study: Study, wanted: Wanted) -> None:
        self._study, self._wanted = study, wanted
        self._told = 0
        self._asked: dict[tuple[tuple[str, Setting], ...], int] = {}

    def next(self, measured: Sequence[MeasuredInference]) -> dict[str, Setting] | None:
        """Return the next configuration, or None where all suggested ones are measured."""
        for one in measured[self._told :]:
            self._tell(one)
        self._told = len(measured)
        scores = {_identity(one.configuration): self._score(one) for one in measured}
        for _ in range(_MOST_REPEATS):
            try:
                number, full = self._study.ask()
            except NothingLeftError:
                return None
            configuration = {name.partition(".")[2]: value for name, value in full.items()}
            identity = _identity(configuration)
            if identity not in scores:
                self._asked[identity] = number
                return configuration
            self._study.tell(number, _BUDGET, scores[identity])
        return None

    def _tell(self, one: MeasuredInference) -> None:
        number = self._asked.pop(_identity(one.configuration), None)
        if number is None:
            fixed = {f"{Kind.INFERENCE}.{name}": v for name, v in one.configuration.items()}
            number, _ = self._study.ask_within(fixed)
        self._study.tell(number, _BUDGET, self._score(one))

    def _score(self, one: MeasuredInference) -> float | Failure:
        return Failure(one.failure) if one.failure else -cost(one, self._wanted)


def _identity(configuration: Mapping[str, Setting]) -> tuple[tuple[str, Setting], ...]:
    return tuple(sorted(configuration.items()))
