"""`verify.json`: whether a target does the same in its slim environment as in the original."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.misses.held_out import HeldOutInput
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.settling import Risk
from trimtab.records.values import AnyPath, PathInside, Share, Text, Whole, Word

_MUCH_BY_OTHERS, _MUCH_STOLEN = 0.1, 0.02


@dataclass(frozen=True, config=PART)
class VerifiedWorkload:
    """How many of a workload's `repeats` outputs were equal, and how they were compared.

    Of the `slim_runs` in the slim environment, including the followed run, `clean_runs` missed
    nothing: the strict behaviour would not have ended them. `libraries` is the number of slim
    libraries that they used. Both, and `risk`, are None if the environment has no fallback to
    record them. `ended` is the runs' end if `ends_with` allowed it: not with 0, nor a server by its
    stop signal.
    """

    workload: Word
    repeats: Whole
    equal: bool
    equal_runs: Whole
    comparison: Word
    slim_runs: Whole = 0
    clean_runs: Whole | None = None
    libraries: Whole | None = None
    risk: Risk | None = None
    ended: Text = ""


@dataclass(frozen=True, config=PART)
class ResidentBytes:
    """The most bytes of a target's libraries that were in memory in each environment."""

    original: Whole
    debloated: Whole


@dataclass(frozen=True, config=PART)
class Crash:
    """A signal that ended a process: its place in the slim library, and the function there."""

    signal: Text
    library: AnyPath
    address: Annotated[int, Field(ge=0, lt=1 << 64)]
    function: Text

    def __str__(self) -> str:
        where = f"{self.function} at {self.address:#x}" if self.function else f"{self.address:#x}"
        return f"{self.signal} in {self.library or 'no library'}, {where}"


@dataclass(frozen=True, config=PART)
class MachineLoad:
    """The machine's load by others while runs were measured.

    The shares of all processors' time that other processes and, on a host, other guests used.
    `waited_share` is the share of the time in which any process waited for a processor.
    """

    others_share: Share
    stolen_share: Share
    waited_share: Share

    @property
    def busy(self) -> str:
        """The load by others in words, if it could distort times and energy; otherwise ""."""
        said = []
        if self.others_share > _MUCH_BY_OTHERS:
            said.append(f"other processes took {self.others_share:.0%} of its processors' time")
        if self.stolen_share > _MUCH_STOLEN:
            said.append(f"other guests of its host took {self.stolen_share:.0%} of it")
        if said and self.waited_share > _MUCH_BY_OTHERS:
            said.append(f"something waited for a processor {self.waited_share:.0%} of the time")
        return ", ".join(said)


class Verdict(Document):
    """The results of verification for each workload, up to the first failure.

    `removed_calls` were restored in runs that continued, and are no failure. `missed_files` are
    removed files that a run looked for; they were restored if possible. `resident_bytes` are by
    workload. `held_out` are inputs that were not profiled, with their misses. `machine` is the load
    by others. After a failure, `failed_workload` and `problem` say what differed, and `crash` where
    the program crashed, if it did.
    """

    stage: ClassVar[str] = "debloat"
    most_bytes: ClassVar[int] = 1 << 26
    version: Literal[2] = 2
    target: Word
    hardware: Word
    passed: bool
    workloads: list[VerifiedWorkload] = Field(default_factory=list)
    removed_calls: list[RemovedCall] = Field(default_factory=list)
    missed_files: list[PathInside] = Field(default_factory=list)
    resident_bytes: dict[Word, ResidentBytes] = Field(default_factory=dict)
    held_out: list[HeldOutInput] = Field(default_factory=list)
    machine: MachineLoad | None = None
    failed_workload: Word | None = None
    problem: Text | None = None
    crash: Crash | None = None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.passed == bool(self.failed_workload and self.problem):
            raise ValueError("passed: expected failed_workload and problem where it is false only")
        if self.passed and not all(each.equal for each in self.workloads):
            raise ValueError("passed: true, but an output was another")
        if any(not _adds_up(each) for each in self.workloads):
            raise ValueError("workloads: more runs were equal or clean than there were")
        missed = self.removed_calls or self.missed_files
        if self.passed and not missed and not all(map(_is_clean, self.workloads)):
            raise ValueError("removed_calls, missed_files: none, but a run was not clean")
        return self


def _adds_up(each: VerifiedWorkload) -> bool:
    clean = each.clean_runs or 0
    return 0 <= each.equal_runs <= each.repeats and 0 <= clean <= each.slim_runs


def _is_clean(each: VerifiedWorkload) -> bool:
    return each.clean_runs in (None, each.slim_runs)
