"""What became of the jobs of a trace on a cluster under a policy.

`summary.json` is of the simulation, `formula.json` by formula, `real.json` of a run for real.
"""

from enum import StrEnum
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.figures import ClassFigures, ResponseFigures, TotalFigures
from trimtab.records.trace_facts import ServiceSource

Simulator = StrEnum("Simulator", "KERNEL REFERENCE")  # which simulated: both give the same


class Summary(Document):
    """A cell of an experiment: means over all replications, by class and of all jobs."""

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    cluster: str
    trace: str
    policy: str
    policy_label: str
    baseline: bool
    simulator: Simulator
    seed: int
    offered_load: float | None
    classes: dict[str, ClassFigures] = Field(min_length=1)
    all: TotalFigures
    energy_source: str
    service_source: ServiceSource


class FormulaResponse(Document):
    """Response times by class and the model that they are of, or why there are none."""

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    model: str = ""
    classes: dict[str, ResponseFigures] = Field(default_factory=dict)
    not_possible_because: str = ""

    @model_validator(mode="after")
    def _says_why_there_is_none(self) -> Self:
        if not self.classes and not self.not_possible_because:
            raise ValueError("no class, and not_possible_because does not say why")
        return self


@dataclass(frozen=True, config=PART)
class JobErrors:
    """By how much the simulated response of a job differs from the real one, without sign.

    Over the `jobs` that are in both; null where there is none.
    """

    jobs: int
    mean_error_pct: float | None
    median_error_pct: float | None


class RealRun(Document):
    """The jobs of a trace run for real; times are in seconds of the trace.

    `scale` is by how much the real jobs were shortened, and `sprint` says how they were sped up.
    """

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    platform: str
    scale: float
    machine: str
    load_average_before: float
    sprint: str
    energy_source: str
    per_job: JobErrors
    classes: dict[str, ClassFigures]
