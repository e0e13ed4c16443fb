"""A program as its user runs it: the command, its output, and its progress marks."""

import os
import signal
from collections.abc import Callable, Mapping
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
    """How a run uses a server: when it is ready, which driver runs, and what stops it.

    `ready` is searched in each line of the server's output; if it is None, the server is ready when
    `address`, HOST:PORT, accepts a connection. `stop` is a signal number. The driver runs in
    `workdir`, None for the server's. Instead of it, `inside` is called with the server's number.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    ready: str | None
    address: str | None
    stop: int = signal.SIGTERM
    workdir: Path | None = None
    inside: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Program:
    """A command with its whole environment.

    `command[0]` is looked up in the PATH of `environment`, or relative to `workdir` if it has a
    slash. A run longer than `timeout_s` is killed with all its processes. `ends_with` are the good
    exit codes, or minus the signals; None allows any. With `by_tracer` the command runs the program
    as its child, and ends as the child does. A program with a `driver` is a server. `own_variables`
    are the variables that the workload sets. `cpus` is the number of CPUs that it may use, None for
    all of the starting process. It runs as `user`, None for the user of the starting process.

    In a `root` all paths are as programs inside see them; a driver stays outside.
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
        """The compared file, or None for standard output."""
        return None if self.output.path is None else self.written("output.path", self.output.path)

    def written(self, key: str, path: str) -> Path:
        """Return our path of a file that the program writes; `path` may be relative to workdir.

        Raises UserError, which names `key`, for a file that disappears with the root at the end.
        """
        inside = Path(os.path.normpath(self.workdir / path))
        if self.root is not None and not self.root.is_bound(inside):
            raise UserError(
                f"{key}: {inside} is in the root {self.root.folder}, where nothing that a program"
                " writes stays; have it write to {output}"
            )
        return self.workdir / path

    def outside(self, path: str) -> Path:
        """Return our path of a file, for an absolute path without links from its processes."""
        return Path(path) if self.root is None else self.root.outside(PurePath(path))

    def with_access_to(self, *paths: Path) -> Self:
        """Return the program with read and write access to files and folders of ours.

        If it runs as another user, they become that user's. Raises UserError if that user cannot
        enter their folders.
        """
        if self.root is None:
            if self.user is not None:
                self.user.give(*paths)
            return self
        if self.user is not None:  # all users may enter the root's folders above them
            self.user.own(*paths)
        return self.binding(*paths)

    def binding(self, *paths: Path) -> Self:
        """Return the program, which sees files and folders in its root with unchanged owners.

        It may write to them if its user may.
        """
        return self if self.root is None else replace(self, root=self.root.binding(*paths))

    def seeing(self, *paths: Path) -> Self:
        """Return the program, which sees files and folders of ours in its root.

        It may write only to those that it already had access to.
        """
        return self if self.root is None else replace(self, root=self.root.seeing(*paths))

    def ending_as(self, exit_code: int) -> Self:
        """Return the program, which now has to end with `exit_code`."""
        return replace(self, ends_with=frozenset({exit_code}))


def ended(exit_code: int) -> str:
    """Return the end of a process: `ended with exit code 3`, `was ended by signal 15 (SIGTERM)`."""
    return f"{'ended with' if exit_code >= 0 else 'was ended by'} {format_exit_code(exit_code)}"


def format_exit_code(exit_code: int) -> str:
    """Return `exit code 3`, or below 0 `signal 15 (SIGTERM)`."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    return f"signal {-exit_code} ({signal_name(-exit_code)})"
