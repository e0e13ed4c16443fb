"""The results for the jobs of a trace on a cluster under a policy.

`summary.json` is of the simulation, `formula.json` by formula, `real.json` of a run for real, and
`queue.json` of commands that a person queued.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.figures import (
    ClassFigures,
    PredictionErrors,
    ResponseFigures,
    TotalFigures,
)
from trimtab.records.trace_facts import ServiceSource
from trimtab.records.values import Amount, EnergySource, ExitCode, Text, Whole

Simulator = StrEnum("Simulator", "KERNEL REFERENCE")  # both give the same results


@dataclass(frozen=True, config=PART)
class CellFigures:
    """The results of a cell: means over all replications, by class and over all jobs."""

    classes: dict[Text, ClassFigures]
    all: TotalFigures


@dataclass(frozen=True, config=PART)
class Protection:
    """The same cell without protection, and at both ends of the cost of protection; modelled.

    `secure` are the protected classes, `enclaves` the enclave of each node type that runs some of
    them. The cell's own figures use the best estimate of the cost.
    """

    secure: list[Text]
    enclaves: dict[Text, Text]
    without: CellFigures
    low: CellFigures
    high: CellFigures


class Summary(Document):
    """A cell of an experiment: means over all replications, by class and over all jobs.

    `offered_load` is of the drawn jobs as they are. `load` is known before the simulation, with
    dropped tasks, sprints and repeats of evicted jobs; null for arrivals without a steady state, or
    if infinite. `unstable_because` is empty for a queue that does not grow without bound.
    `protection` is null if no class is secure. `predictions` are those of HEATS, and empty under
    other policies and in version 4.
    """

    stage: ClassVar[str] = "schedule"
    reads_too: ClassVar[tuple[int, ...]] = (4,)
    version: Literal[4, 5] = 5
    cluster: Text
    trace: Text
    policy: Text
    policy_label: Text
    baseline: bool
    simulator: Simulator
    seed: Whole
    offered_load: Amount | None
    load: Amount | None
    unstable_because: Text
    classes: dict[Text, ClassFigures] = Field(min_length=1)
    all: TotalFigures
    energy_source: EnergySource
    service_source: ServiceSource
    protection: Protection | None
    predictions: list[PredictionErrors] = Field(default_factory=list)


@dataclass(frozen=True, config=PART)
class MeanBounds:
    """Bounds of a mean response time, s, that always hold."""

    low_s: Amount
    high_s: Amount


class FormulaResponse(Document):
    """Response times by class and their model, or why there are none.

    `bounds` are by class, where the model is an approximation with bounds.
    """

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    model: Text = ""
    classes: dict[Text, ResponseFigures] = Field(default_factory=dict)
    bounds: dict[Text, MeanBounds] = Field(default_factory=dict)
    not_possible_because: Text = ""

    @model_validator(mode="after")
    def _says_why_there_is_none(self) -> Self:
        if not self.classes and not self.not_possible_because:
            raise ValueError("no class, and not_possible_because does not say why")
        return self


@dataclass(frozen=True, config=PART)
class JobErrors:
    """The absolute errors of simulated response times against the real ones.

    They are over the `jobs` that are in both; null if there are none.
    """

    jobs: Whole
    mean_error_pct: Amount | None
    median_error_pct: Amount | None


class RealRun(Document):
    """The jobs of a trace in a real run; times are in seconds of the trace.

    `scale` is the factor by which the real jobs were shortened; `sprint` is the method of
    sprinting.
    """

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    platform: Text
    scale: Annotated[Amount, Field(gt=0)]
    machine: Text
    load_average_before: Amount
    sprint: Text
    energy_source: EnergySource
    per_job: JobErrors
    classes: dict[Text, ClassFigures]


class QueueRun(Document):
    """The commands of a queue run for real: how, and the exit code of each by the job's number."""

    stage: ClassVar[str] = "trimtab schedule run"
    version: Literal[1] = 1
    policy: Text
    sprinter: Text
    energy: Text
    exit_codes: dict[Whole, ExitCode]
