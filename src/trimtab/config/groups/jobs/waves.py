"""The phase-type time of a wave of tasks."""

from math import fsum
from typing import Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, InvalidValueError, MistakeError, NotNegative, about
from trimtab.config.groups.jobs.arrivals import Matrix

_MOST_PHASES = 100
_TOLERANCE = 1e-9  # of a sum, relative


@dataclass(config=CHECKED)
class WaveConfig:
    """How long a wave of tasks takes: until a Markov chain of a few phases ends."""

    start: list[NotNegative] = about(
        "Probability of each phase at the start; empty: tasks have their own times.", factory=list
    )
    transitions: Matrix = about(
        "Rates between the phases, by row; the diagonal is minus the rate of leaving a phase, to "
        "another or to the end.",
        factory=list,
        unit="1/s",
    )

    @model_validator(mode="after")
    def _is_a_phase_type_distribution(self) -> Self:
        phases = range(len(self.start))
        if len(phases) > _MOST_PHASES:
            raise InvalidValueError("start", f"{len(phases)} phases", f"at most {_MOST_PHASES}")
        if phases and abs(fsum(self.start) - 1) > _TOLERANCE:
            raise InvalidValueError("start", self.start, "probabilities that add up to 1")
        if [len(row) for row in self.transitions] != [len(phases)] * len(phases):
            sizes = ", ".join(str(len(row)) for row in self.transitions) or "none"
            expected = f"as many rows, each of as many rates, as `start` has phases: {len(phases)}"
            raise InvalidValueError("transitions", f"rows of {sizes}", expected)
        ends = set()
        for row in phases:
            rates = self.transitions[row]
            for column in phases:
                if column != row and rates[column] < 0:
                    key = f"transitions[{row}][{column}]"
                    raise InvalidValueError(key, rates[column], "a rate of at least 0")
            others = fsum(rates) - rates[row]
            if not rates[row] < 0 or -rates[row] < others * (1 - _TOLERANCE):
                expected = f"a number below 0, at most {-others:g}, minus the row's other rates"
                raise InvalidValueError(f"transitions[{row}][{row}]", rates[row], expected)
            if -rates[row] > others * (1 + _TOLERANCE):
                ends.add(row)
        self._check_ends(ends)
        return self

    def _check_ends(self, ends: set[int]) -> None:
        """Raise MistakeError for a phase that never leads to one of `ends`."""
        left, closer = set(range(len(self.start))) - ends, ends
        while closer:
            closer = {row for row in left if any(self.transitions[row][to] > 0 for to in closer)}
            left -= closer
        if left:
            problem = f"phase {min(left)} never leads to the end, expected a wave that ends"
            raise MistakeError("transitions", problem)
