"""`settling.json`: the runs of a slim environment whose misses were put back and are kept."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.values import AboveZero, PathInside, Share, Text, Whole, Word


@dataclass(frozen=True, config=PART)
class SlimRun:
    """A run in the slim environment as it was built the `build`th time, from 0.

    `misses` are the removed pieces that it asked for, as places in a list of them.
    """

    workload: Word
    condition: Text
    build: Whole
    misses: list[Whole] = Field(default_factory=list)


@dataclass(frozen=True, config=PART)
class Risk:
    """How probable it is that the next run asks for something removed, which is then put back.

    `estimate` is Good and Turing's: of `runs` in slim environments, the share of the
    `runs_of_their_own` that asked for a removed piece that no other run asked for; None without a
    run. `bound` holds with 95 %, by Clopper and Pearson, where `runs_with_misses` of the
    `runs_as_delivered` asked for something removed: runs in the last build, and those just before
    it that asked for nothing new; 1 without such a run.
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
    """What the slim environment of a target missed until `clean_runs` in a row missed nothing.

    `runs` are in the order they were made; `missed` are the pieces that their `misses` number, all
    of which the environment has now, and `missed_files` the removed files that they asked for.
    The libraries `left_alone` are as in the original: without that the program failed.
    Where it has not `settled`, `why_not` says so in words.
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
        """The runs since the environment was last built."""
        return [run for run in self.runs if run.build == self.builds - 1]
