"""A program as its user runs it: the command, its output, and how it marks its progress."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trimtab.errors import UserError


@dataclass(frozen=True)
class OutputComparison:
    """What of a program's output has to stay the same.

    `compare` is `digest_file` (every byte of the file `path`), `digest_stdout` (every byte of
    standard output) or `numeric_file` (the numbers in the file `path`, within `relative_tolerance`
    or `absolute_tolerance`, whichever allows more). `path` is relative to the program's working
    directory.
    """

    compare: Literal["digest_file", "digest_stdout", "numeric_file"] = "digest_stdout"
    path: str | None = None
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.compare not in ("digest_file", "digest_stdout", "numeric_file"):
            raise UserError(
                f"output.compare: {self.compare!r} is none of digest_file, digest_stdout, "
                "numeric_file"
            )
        if (self.path is None) != (self.compare == "digest_stdout"):
            needed = "must be left out" if self.path is not None else "is needed"
            raise UserError(f"output.path: {needed} with output.compare: {self.compare}")
        for key in ("relative_tolerance", "absolute_tolerance"):
            if not getattr(self, key) >= 0:
                raise UserError(f"output.{key}: {getattr(self, key)} is not a number >= 0")


@dataclass(frozen=True)
class Marks:
    """How a program says where it is: regular expressions searched in each line it writes.

    A line that matches `first_iteration` ends the start-up; a line that matches `epoch` ends an
    epoch. Lines come from standard output, or from `file` (relative to the working directory),
    to which the program appends. A line counts when its newline has arrived, so the program has
    to flush it.
    """

    first_iteration: str | None = None
    epoch: str | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        for key in ("first_iteration", "epoch"):
            pattern = getattr(self, key)
            try:
                re.compile(pattern or "")
            except re.error as error:
                raise UserError(f"marks.{key}: {pattern!r} is not a pattern: {error}") from None

    @property
    def wanted(self) -> bool:
        """Whether any line has to be looked at."""
        return self.first_iteration is not None or self.epoch is not None


@dataclass(frozen=True)
class Program:
    """A command with the whole environment that it runs in.

    `command[0]` is looked up in the PATH of `environment`, and relative to `workdir` when it
    holds a slash. A run that takes longer than `timeout_s` is killed with all its processes.
    """

    command: tuple[str, ...]
    workdir: Path
    environment: Mapping[str, str]
    timeout_s: float
    output: OutputComparison = field(default_factory=OutputComparison)
    marks: Marks = field(default_factory=Marks)

    def __post_init__(self) -> None:
        if not self.command:
            raise UserError("command: is empty; give the program to run and its arguments")
        if not self.timeout_s > 0:
            raise UserError(f"timeout_s: {self.timeout_s} is not a time above 0 seconds")

    @property
    def output_file(self) -> Path | None:
        """The file whose content is compared, or None where it is standard output."""
        return None if self.output.path is None else self.workdir / self.output.path
