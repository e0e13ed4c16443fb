"""`deflator_{objective}.json`: the deflator's search for a cell."""

from typing import ClassVar, Literal, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Measure, Share, Text


@dataclass(frozen=True, config=PART, kw_only=True)
class DeflatorCandidate:
    """A combination and the model's figures for it; every mapping is by class.

    A timeout is null if the class never sprints. `energy_j_per_job` is for an average job, the
    engine's idle power included; `sprint_share` is the share of all time in which the engine
    sprints.
    """

    drop_ratio: dict[Text, Share]
    timeout_s: dict[Text, Amount | None]
    accuracy_loss_pct: dict[Text, Measure]
    response_mean_s: dict[Text, Amount]
    response_p95_s: dict[Text, Amount]
    energy_j_per_job: Amount
    sprint_share: Amount
    feasible: bool
    pareto: bool = False
    chosen: bool = False


@dataclass(frozen=True, config=PART)
class SimulatedResponse:
    """The simulated response times of the chosen candidate, by class."""

    response_mean_s: dict[Text, Amount | None]
    response_p95_s: dict[Text, Amount | None]


class DeflatorSearch(Document):
    """All stable combinations of an objective's choices, and a simulation of the chosen one.

    `classes` are in order of decreasing importance; `confirmed` is null if no candidate is
    feasible.
    """

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    objective: Text
    cluster: Text
    trace: Text
    classes: list[Text]
    rows: list[DeflatorCandidate]
    confirmed: SimulatedResponse | None

    @model_validator(mode="after")
    def _every_mapping_has_all_classes(self) -> Self:
        parts = [(f"rows[{number}]", vars(row)) for number, row in enumerate(self.rows)]
        if self.confirmed:
            parts.append(("confirmed", vars(self.confirmed)))
        for where, part in parts:
            for key, value in part.items():
                if isinstance(value, dict) and value.keys() != set(self.classes):
                    raise ValueError(f"{where}.{key}: expected {' and '.join(self.classes)}")
        return self
