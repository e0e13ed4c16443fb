"""The misses of held-out inputs, in `verify.json`."""

from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.removed_files import MissedFile
from trimtab.records.values import ExitCode, Text, Whole, Word, one_of

# The fallback's behaviour at a miss; `none` if the environment has no fallback.
_BEHAVIOUR = one_of("strict", "report", "restore", "none")


@dataclass(frozen=True, config=PART)
class HeldOutRun:
    """A run of the input in the slim environment under one behaviour of its fallback.

    `missed` is the number of missed pieces and files of all processes; `calls` and `files` name
    them. Under `report` it is the number of accesses, for a large piece one per page. `ended` says
    in words how it ended, if otherwise than in the original environment. `equal`: its output was
    the original's; None if it ended before.
    """

    behaviour: Annotated[str, _BEHAVIOUR]
    missed: Whole
    calls: list[RemovedCall] = Field(default_factory=list)
    files: list[MissedFile] = Field(default_factory=list)
    ended: Text = ""
    equal: bool | None = None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.behaviour in ("strict", "restore") and bool(self.missed) != self.has_names:
            raise ValueError("missed: expected calls or files where it is not 0, and only then")
        if bool(self.ended) == (self.equal is not None):
            raise ValueError(
                "equal: expected where the run ended as in the original, and only then"
            )
        return self

    @property
    def has_names(self) -> bool:
        """Whether any missed piece is named."""
        return bool(self.calls or self.files)

    @property
    def is_right(self) -> bool:
        """Whether it kept the promise of the behaviour."""
        if self.behaviour == "none":
            return True
        return self.equal is True or (self.behaviour == "strict" and self.has_names)


@dataclass(frozen=True, config=PART)
class HeldOutInput:
    """An input of a workload by its name, and its runs, one under each behaviour.

    `problem` says why it cannot be judged: it fails or varies in the original environment. Then
    `runs` may be fewer. `exit_code` is of its run in the original environment, `workload_exit_code`
    of the workload's own input there.
    """

    workload: Word
    name: Word
    command: list[Text]
    runs: list[HeldOutRun]
    exit_code: ExitCode = 0
    workload_exit_code: ExitCode = 0
    problem: Text = ""

    @property
    def is_right(self) -> bool:
        """Whether it was judged and every run kept the promise of its behaviour."""
        return not self.problem and all(run.is_right for run in self.runs)

    @property
    def own_exit_code(self) -> int | None:
        """Its exit code if it differs from the workload's own, or None."""
        return None if self.exit_code == self.workload_exit_code else self.exit_code

    @property
    def names(self) -> list[str]:
        """Each missed piece and file of any run, in words, once."""
        named = {
            **{f"file {file.path}": None for run in self.runs for file in run.files},
            **{str(call): None for run in self.runs for call in run.calls},
        }
        return list(named)
