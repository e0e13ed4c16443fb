"""A program as its user runs it: the command, its output, and how it marks its progress."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.config.groups.workload import Marks, Output
from trimtab.errors import UserError


@dataclass(frozen=True)
class Program:
    """A command with the whole environment that it runs in.

    `command[0]` is looked up in the PATH of `environment`, and relative to `workdir` when it
    holds a slash. A run that takes longer than `timeout_s` is killed with all its processes.
    `own_variables` are the names of those variables that the workload sets itself. `cpus` is the
    number of CPUs that it may use, None for all that the process may that starts it.
    """

    command: tuple[str, ...]
    workdir: Path
    environment: Mapping[str, str]
    timeout_s: float
    output: Output = field(default_factory=Output)
    marks: Marks = field(default_factory=Marks)
    own_variables: frozenset[str] = frozenset()
    cpus: int | None = None

    def __post_init__(self) -> None:
        if not self.command:
            raise UserError("command: is empty; give the program to run and its arguments")
        if not self.timeout_s > 0:
            raise UserError(f"timeout_s: {self.timeout_s} is not a time above 0 seconds")

    @property
    def output_file(self) -> Path | None:
        """The file whose content is compared, or None where it is standard output."""
        return None if self.output.path is None else self.workdir / self.output.path
