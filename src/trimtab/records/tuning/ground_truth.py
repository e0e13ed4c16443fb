"""`ground_truth.json`: which system settings were best for jobs, known by their counters alone.

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
class KnownJob:
    """The counters of an epoch under the default settings, each per second of the processor, and
    the settings under which an epoch was best, by `objective`, on machines of a kind."""

    machine: Word
    objective: Word
    rates: dict[Word, Amount]
    settings: dict[Word, Setting]

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.rates or not self.settings:
            raise ValueError("rates, settings: expected at least one of each")
        return self


class GroundTruthRecord(Document):
    """All jobs that are known, in the order they became so."""

    stage: ClassVar[str] = "tune"
    version: Literal[1] = 1
    jobs: list[KnownJob] = Field(default_factory=list)
