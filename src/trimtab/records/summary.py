"""`summary.json`: what became of the jobs of a trace on a cluster under a policy, simulated."""

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from trimtab.records.document import Document
from trimtab.records.figures import ClassFigures, TotalFigures
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
