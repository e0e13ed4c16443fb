"""`settling.json`: the runs of a slim environment whose misses were put back and are kept."""

from typing import ClassVar, Literal, Self

from pydantic import Field, NonNegativeInt, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.removed_calls import RemovedCall


@dataclass(frozen=True, config=PART)
class SlimRun:
    """A run in the slim environment as it was built the `build`th time, from 0.

    `misses` are the removed pieces that it asked for, as places in a list of them.
    """

    workload: str
    condition: str
    build: NonNegativeInt
    misses: list[NonNegativeInt] = Field(default_factory=list)


@dataclass(frozen=True, config=PART)
class Risk:
    """How probable it is that the next run asks for something removed, which is then put back.

    `estimate` is Good and Turing's: of `runs` in slim environments, the share of the
    `runs_of_their_own` that asked for a removed piece that no other run asked for; None without a
    run. `bound` holds with 95 %, by Clopper and Pearson, where `runs_with_misses` of the
    `runs_as_delivered`, since the environment was last built, asked for something removed; 1
    without such a run.
    """

    runs: NonNegativeInt
    runs_of_their_own: NonNegativeInt
    estimate: float | None
    runs_as_delivered: NonNegativeInt
    runs_with_misses: NonNegativeInt
    bound: float


class Settling(Document):
    """What the slim environment of a target missed until `clean_runs` in a row missed nothing.

    `runs` are in the order they were made; `missed` are the pieces that their `misses` number, all
    of which the environment has now. Where it has not `settled`, `why_not` says so in words.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: str
    hardware: str
    clean_runs: NonNegativeInt
    builds: int = Field(ge=1)
    settled: bool
    why_not: str = ""
    runs: list[SlimRun] = Field(default_factory=list)
    missed: list[RemovedCall] = Field(default_factory=list)

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
