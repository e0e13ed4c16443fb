"""`verify.json`: whether a target does in its slim environment what it did in the original."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.removed_calls import RemovedCall


@dataclass(frozen=True, config=PART)
class VerifiedWorkload:
    """How many of a workload's `repeats` outputs were equal, and how they were compared."""

    workload: str
    repeats: int
    equal: bool
    equal_runs: int
    comparison: str


@dataclass(frozen=True, config=PART)
class ResidentBytes:
    """The most of a target's libraries that was in memory in each environment."""

    original: int
    debloated: int


@dataclass(frozen=True, config=PART)
class Crash:
    """A signal that ended a process: where it was, in the slim library and by its function."""

    signal: str
    library: str
    address: int
    function: str

    def __str__(self) -> str:
        where = f"{self.function} at {self.address:#x}" if self.function else f"{self.address:#x}"
        return f"{self.signal} in {self.library or 'no library'}, {where}"


class Verdict(Document):
    """What verification saw of each workload, up to the first that failed.

    `resident_bytes` are by workload. Where it failed, `failed_workload` and `problem` say what
    was other than before, and `crash` where the program died, if it did.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: str
    hardware: str
    passed: bool
    workloads: list[VerifiedWorkload] = Field(default_factory=list)
    removed_calls: list[RemovedCall] = Field(default_factory=list)
    resident_bytes: dict[str, ResidentBytes] = Field(default_factory=dict)
    failed_workload: str | None = None
    problem: str | None = None
    crash: Crash | None = None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.passed == bool(self.failed_workload and self.problem):
            raise ValueError("passed: expected failed_workload and problem where it is false only")
        if self.passed and (self.removed_calls or not all(w.equal for w in self.workloads)):
            raise ValueError("passed: true, but removed code was called or an output was another")
        return self
