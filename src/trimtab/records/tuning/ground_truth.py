"""`ground_truth.json`: what system settings cost jobs that are known by their counters alone.

It holds no name, data or hyperparameter of a workload (thesis, section 6.3.5), so that it can be
shared with other users and machines.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Word

Setting = int | float


@dataclass(frozen=True, config=PART)
class EventProfile:
    """What a program's first epoch under settings counted, in events of an epoch over all data.

    Among them is the processor's own time of such an epoch, in ms, as `epoch_cpu_ms`.
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
    """What an epoch took under settings, in times of what another one of the job did.

    `energy` is None where it is unknown. `warm`: it was not the first epoch of a program.
    """

    settings: dict[Word, Setting]
    time: Amount
    energy: Amount | None
    warm: bool


@dataclass(frozen=True, config=PART)
class KnownJob:
    """A job on machines of a kind: how to know it again, and what settings cost it.

    `id` is drawn at random, and the same wherever the job is copied to.
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
    """All jobs that are known, in the order they became so."""

    stage: ClassVar[str] = "tune"
    version: Literal[3] = 3
    jobs: list[KnownJob] = Field(default_factory=list)
