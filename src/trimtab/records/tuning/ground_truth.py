"""`ground_truth.json`: the costs of system settings for jobs that only their counters identify.

It holds no name, data or hyperparameter of a workload (thesis, section 6.3.5), so it can be shared
with other users and machines.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Word

Setting = int | float


@dataclass(frozen=True, config=PART)
class EventProfile:
    """The counts of a program's first epoch under settings, in events of an epoch over all data.

    `epoch_cpu_ms` is the processor's own time of such an epoch, in ms.
    """

    settings: dict[Word, Setting]
    counts: dict[Word, Amount]

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.counts or not self.settings:
            raise ValueError("counts, settings: expected at least one of each")
        return self


@dataclass(frozen=True, config=PART)
class RelativeCost:
    """The cost of an epoch under settings, relative to another epoch of the job.

    `energy` is None if unknown. `warm`: it was not the first epoch of a program.
    """

    settings: dict[Word, Setting]
    time: Amount
    energy: Amount | None
    warm: bool


@dataclass(frozen=True, config=PART)
class KnownJob:
    """A job on machines of a kind: its identification, and the costs of settings for it.

    `id` is random, and the same in all copies of the job.
    """

    id: Word
    machine: Word
    profiles: list[EventProfile]
    costs: list[RelativeCost]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for name, parts in (("profiles", self.profiles), ("costs", self.costs)):
            if len({frozenset(part.settings.items()) for part in parts}) < len(parts):
                raise ValueError(f"{name}: the same settings twice")
        return self


class GroundTruthRecord(Document):
    """All known jobs, in the order of their addition."""

    stage: ClassVar[str] = "tune"
    version: Literal[3] = 3
    jobs: list[KnownJob] = Field(default_factory=list)
