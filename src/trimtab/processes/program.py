"""A program as its user runs it: the command, its output, and how it marks its progress."""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Self

from trimtab.config.groups.output import Output
from trimtab.config.groups.workload import Marks
from trimtab.config.signals import signal_name
from trimtab.errors import UserError
from trimtab.processes.as_user import User
from trimtab.processes.root import RootFileSystem


@dataclass(frozen=True)
class Driver:
    """How a server is used in a run: when it is ready, what drives it then, and what stops it.

    `ready` is searched in each line that the server writes; where it is None the server is ready
    when `address`, HOST:PORT, accepts a connection. `stop` is the number of a signal. It runs in
    `workdir`, None for that of the server.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    ready: str | None
    address: str | None
    stop: int = signal.SIGTERM
    workdir: Path | None = None


@dataclass(frozen=True)
class Program:
    """A command with the whole environment that it runs in.

    `command[0]` is looked up in the PATH of `environment`, and relative to `workdir` when it
    holds a slash. A run that takes longer than `timeout_s` is killed with all its processes.
    `ends_with` are the exit codes, or minus the signals, of a run that ended well; where it is None
    any is. With `by_tracer` the command is one that runs the program as its child, and ends as
    that does. A program with a `driver` is a server.
    `own_variables` are the names of those variables that the workload sets itself. `cpus` is the
    number of CPUs that it may use, None for all that the process may that starts it. It
    runs as `user`, None for the one that the process runs as.

    In a `root` all of these are as programs inside see them; a driver stays outside.
    """

    command: tuple[str, ...]
    workdir: Path
    environment: Mapping[str, str]
    timeout_s: float
    output: Output = field(default_factory=Output)
    marks: Marks = field(default_factory=Marks)
    ends_with: frozenset[int] | None = frozenset({0})
    by_tracer: bool = False
    driver: Driver | None = None
    own_variables: frozenset[str] = frozenset()
    cpus: int | None = None
    user: User | None = None
    root: RootFileSystem | None = None

    def __post_init__(self) -> None:
        if not self.command:
            raise UserError("command: is empty; give the program to run and its arguments")
        if not self.timeout_s > 0:
            raise UserError(f"timeout_s: {self.timeout_s} is not a time above 0 seconds")

    @property
    def output_file(self) -> Path | None:
        """The file whose content is compared, or None where it is standard output."""
        return None if self.output.path is None else self.written("output.path", self.output.path)

    def written(self, key: str, path: str) -> Path:
        """Return where a file that the program writes is for us; `path` may be relative to workdir.

        Raises UserError, which names `key`, for one that is gone with the root when it has ended.
        """
        inside = Path(os.path.normpath(self.workdir / path))
        if self.root is not None and not self.root.is_bound(inside):
            raise UserError(
                f"{key}: {inside} is in the root {self.root.folder}, where nothing that a program"
                " writes stays; have it write to {output}"
            )
        return self.workdir / path

    def outside(self, path: str) -> Path:
        """Return where a file is for us whose absolute path, by no link, its processes told."""
        return Path(path) if self.root is None else self.root.outside(PurePath(path))

    def with_access_to(self, *paths: Path) -> Self:
        """Return the program, which sees files and folders of ours and may write to them.

        Where it is another user's they are that user's then. Raises UserError where it cannot get
        there.
        """
        if self.root is None:
            if self.user is not None:
                self.user.give(*paths)
            return self
        if self.user is not None:  # folders above are the root's own, which anybody may enter
            self.user.own(*paths)
        return self.binding(*paths)

    def binding(self, *paths: Path) -> Self:
        """Return the program, which sees files and folders where it has a root, as whose they are.

        It may write to those that its user may write to.
        """
        return self if self.root is None else replace(self, root=self.root.binding(*paths))

    def seeing(self, *paths: Path) -> Self:
        """Return the program, which sees files and folders of ours, where it has a root.

        It may not write to those that it had no access to.
        """
        return self if self.root is None else replace(self, root=self.root.seeing(*paths))

    def ending_as(self, exit_code: int) -> Self:
        """Return the program, which has to end with `exit_code` from now on."""
        return replace(self, ends_with=frozenset({exit_code}))


def ended(exit_code: int) -> str:
    """Return how a process ended: `ended with exit code 3`, `was ended by signal 15 (SIGTERM)`."""
    return f"{'ended with' if exit_code >= 0 else 'was ended by'} {format_exit_code(exit_code)}"


def format_exit_code(exit_code: int) -> str:
    """Return `exit code 3`, or below 0 `signal 15 (SIGTERM)`."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    return f"signal {-exit_code} ({signal_name(-exit_code)})"
