"""What of a workload's run is compared with a run of the original."""

from enum import StrEnum
from typing import Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    NoNul,
    NotNegative,
    Pattern,
    Text,
    about,
)


class OutputComparison(StrEnum):
    """What of a run is compared, besides its end."""

    DIGEST_STDOUT = "digest_stdout"
    DIGEST_FILE = "digest_file"
    NUMERIC_STDOUT = "numeric_stdout"
    NUMERIC_FILE = "numeric_file"
    LINES = "lines"
    COMMAND = "command"
    EXIT_CODE = "exit_code"

    @property
    def needs_path(self) -> bool:
        """Whether it is about a file that has to be named."""
        return self in (OutputComparison.DIGEST_FILE, OutputComparison.NUMERIC_FILE)

    @property
    def takes_path(self) -> bool:
        """Whether it can be about a file in place of standard output."""
        return self.needs_path or self in (OutputComparison.LINES, OutputComparison.COMMAND)

    @property
    def is_numeric(self) -> bool:
        """Whether it takes tolerances."""
        return self in (OutputComparison.NUMERIC_STDOUT, OutputComparison.NUMERIC_FILE)


@dataclass(config=CHECKED, frozen=True)
class Output:
    """What of a run's output has to stay the same in the slim environment."""

    compare: OutputComparison = about(
        "How the output is compared. `digest_*`: every byte of standard output or of `path`. "
        "`numeric_*`: numbers within the tolerances, the rest exactly. `lines`: lines that "
        "`changing` does not match. `command`: `output.command` decides. `exit_code`: only the "
        "program's end.",
        default=OutputComparison.DIGEST_STDOUT,
    )
    path: NoNul | None = about(
        "The file to compare in place of standard output. It is relative to `workdir`; `{output}` "
        "is the run's folder. `*_file` needs it, `lines` and `command` take it.",
        default=None,
        option="output",
    )
    relative_tolerance: NotNegative = about(
        "Allowed relative difference of numbers; `numeric_*` only.", default=0.0
    )
    absolute_tolerance: NotNegative = about(
        "Allowed difference of numbers; `numeric_*` only. The larger tolerance counts.",
        default=0.0,
    )
    changing: list[Pattern] = about(
        "Regular expressions: lines with a match are not compared; `lines` only.",
        factory=list,
    )
    command: list[Text] = about(
        "A command that exits with 0 if the files `{before}` and `{after}` count as equal, a word "
        "an item; `command` only.",
        factory=list,
        option="compare-command",
    )

    @model_validator(mode="after")
    def _fits_the_comparison(self) -> Self:
        if self.path is not None and not self.compare.takes_path:
            raise InvalidValueError("path", self.path, f"no path with compare: {self.compare}")
        if self.compare.needs_path and not (self.path or "").strip():
            raise InvalidValueError("path", self.path, f"a file, as compare is {self.compare}")
        for key in ("relative_tolerance", "absolute_tolerance"):
            given = getattr(self, key)
            if given and not self.compare.is_numeric:
                raise InvalidValueError(key, given, f"0, as compare is {self.compare}")
        if self.changing and self.compare != OutputComparison.LINES:
            raise InvalidValueError("changing", self.changing, f"none, as it is {self.compare}")
        if bool(self.command) != (self.compare == OutputComparison.COMMAND):
            expected = "a command" if not self.command else "none"
            raise InvalidValueError(
                "command", self.command, f"{expected}, as compare is {self.compare}"
            )
        return self
