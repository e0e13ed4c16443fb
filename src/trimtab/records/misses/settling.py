"""`settling.json`: the runs of a slim environment whose misses were restored and are now kept."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.values import AboveZero, PathInside, Share, Text, Whole, Word


@dataclass(frozen=True, config=PART)
class SlimRun:
    """A run in the slim environment of the `build`th build, from 0.

    `misses` are indexes in the list of missed pieces.
    """

    workload: Word
    condition: Text
    build: Whole
    misses: list[Whole] = Field(default_factory=list)


@dataclass(frozen=True, config=PART)
class Risk:
    """The risk that the next run asks for something removed, which is then restored.

    `estimate` is Good and Turing's: the share of `runs` in slim environments that missed a piece
    that no other run missed (`runs_of_their_own`); None without a run. `bound` is Clopper and
    Pearson's at 95 %, for `runs_with_misses` of `runs_as_delivered`: runs in the last build, and
    runs just before it without new misses; 1 without such a run.
    """

    runs: Whole
    runs_of_their_own: Whole
    estimate: Share | None
    runs_as_delivered: Whole
    runs_with_misses: Whole
    bound: Share

    @model_validator(mode="after")
    def _is_of_its_runs(self) -> Self:
        if max(self.runs_of_their_own, self.runs_as_delivered) > self.runs:
            raise ValueError(f"runs_of_their_own, runs_as_delivered: more than {self.runs} runs")
        if self.runs_with_misses > self.runs_as_delivered:
            raise ValueError("runs_with_misses: more than runs_as_delivered")
        if (self.estimate is None) == bool(self.runs):
            raise ValueError("estimate: expected a share where there was a run only")
        return self

    def __str__(self) -> str:
        """Return the risk of a miss that so few runs cannot rule out."""
        runs = f"{self.runs_as_delivered} run{'' if self.runs_as_delivered == 1 else 's'}"
        return f"{runs} cannot promise a risk below {self.bound:.0%}"


class Settling(Document):
    """The misses of a target's slim environment, until `clean_runs` in a row missed nothing.

    `runs` are in order; `missed` are the pieces to which their `misses` refer, all of which the
    environment now has. `missed_files` are the removed files that they asked for. The libraries
    `left_alone` stay original, as the program fails otherwise. If it has not `settled`, `why_not`
    says why.
    """

    stage: ClassVar[str] = "debloat"
    most_bytes: ClassVar[int] = 1 << 26
    version: Literal[2] = 2
    target: Word
    hardware: Word
    clean_runs: Whole
    builds: AboveZero
    settled: bool
    why_not: Text = ""
    runs: list[SlimRun] = Field(default_factory=list)
    missed: list[RemovedCall] = Field(default_factory=list)
    missed_files: list[PathInside] = Field(default_factory=list)
    left_alone: list[PathInside] = Field(default_factory=list)

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.settled == bool(self.why_not):
            raise ValueError("settled: expected why_not where it is false only")
        builds = [run.build for run in self.runs]
        if builds != sorted(builds) or any(build >= self.builds for build in builds):
            raise ValueError(f"runs: their builds do not rise to less than {self.builds}")
        if any(miss >= len(self.missed) for run in self.runs for miss in run.misses):
            raise ValueError(f"runs: misses that are none of the {len(self.missed)} in missed")
        if self.settled and any(run.misses for run in self.of_last_build):
            raise ValueError("settled: true, but the last build missed something")
        return self

    @property
    def of_last_build(self) -> list[SlimRun]:
        """The runs in the last build."""
        return [run for run in self.runs if run.build == self.builds - 1]
