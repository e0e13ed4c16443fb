"""What the command line says of a program: the keys of a workload's YAML as options."""

import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from trimtab.config.fields import MistakeError
from trimtab.config.groups.output import OutputComparison
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.validate import checked
from trimtab.errors import UserError

NAME = "program"
_PANEL = "The program"
_OPTION_OF = {"output.path": "output", "output.command": "compare_command"}  # else as the key


def _target(text: str) -> TargetConfig:
    kind, _, location = text.partition(":")
    try:
        return checked({"kind": kind, "location": location}, TargetConfig)
    except MistakeError as error:
        raise UserError(f"--target {text}: {error}") from None


Command = Annotated[
    list[str], typer.Argument(metavar="-- COMMAND", help="The program, as you run it.")
]
Python = Annotated[
    Path | None,
    typer.Option(help="The interpreter whose environment is debloated; by default the command's."),
]
Target = Annotated[
    TargetConfig | None,
    typer.Option(
        parser=_target,
        metavar="KIND:LOCATION",
        help="What is debloated, where it is no Python environment: its kind, and where it is.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        help="A file the program writes, to be compared; by default standard output.",
        rich_help_panel=_PANEL,
    ),
]
Compare = Annotated[
    OutputComparison | None,
    typer.Option(
        help="How the output is compared; by default the strictest way that two runs pass.",
        rich_help_panel=_PANEL,
    ),
]
RelativeTolerance = Annotated[
    float,
    typer.Option(help="Of numbers, relative to their value; compares numbers.",
                 rich_help_panel=_PANEL),
]  # fmt: skip
AbsoluteTolerance = Annotated[
    float, typer.Option(help="Of numbers; compares numbers.", rich_help_panel=_PANEL)
]
CompareCommand = Annotated[
    str | None,
    typer.Option(
        help="A command that exits with 0 where the outputs {before} and {after} count as equal.",
        rich_help_panel=_PANEL,
    ),
]
EndsWith = Annotated[
    str | None,
    typer.Option(
        help="The exit code, or signal, that it has to end with; by default 0, and for a server"
        " its stop signal too.",
        rich_help_panel=_PANEL,
    ),
]
TimeoutS = Annotated[
    float, typer.Option(help="A run that takes longer has failed.", rich_help_panel=_PANEL)
]
Drive = Annotated[
    str | None,
    typer.Option(
        help="For a server: the command that has it work; its output is what is compared.",
        rich_help_panel=_PANEL,
    ),
]
Ready = Annotated[
    str | None,
    typer.Option(
        help="A server is ready when this regular expression is found in a line it writes.",
        rich_help_panel=_PANEL,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A server is ready when this accepts a connection.",
        rich_help_panel=_PANEL,
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Run it as this user of the system, where trimtab runs as root.",
        rich_help_panel=_PANEL,
    ),
]
Stop = Annotated[str, typer.Option(help="The signal that stops a server.", rich_help_panel=_PANEL)]


@dataclass(frozen=True)
class ProgramOptions:
    """What was given of a program besides its command."""

    python: Path | None = None
    target: TargetConfig | None = None
    output: Path | None = None
    compare: OutputComparison | None = None
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    compare_command: str | None = None
    ends_with: str | None = None
    timeout_s: float = 3600.0
    drive: str | None = None
    ready: str | None = None
    address: str | None = None
    stop: str = "SIGTERM"
    user: str | None = None

    @property
    def comparison(self) -> OutputComparison | None:
        """How the output is to be compared, or None where nothing says so."""
        if self.compare is not None:
            return self.compare
        if self.compare_command is not None:
            return OutputComparison.COMMAND
        if self.relative_tolerance or self.absolute_tolerance:
            return OutputComparison.NUMERIC_FILE if self.output else OutputComparison.NUMERIC_STDOUT
        return None

    def workload(self, command: list[str], python: Path | None) -> Workload:
        """Return the workload that is meant; paths start at the current folder, or a root's top.

        Raises UserError for a value that its key does not take.
        """
        target = self.target or TargetConfig()
        output = self.output if target.is_root or not self.output else self.output.absolute()
        plain = OutputComparison.DIGEST_FILE if self.output else OutputComparison.DIGEST_STDOUT
        given = {
            "name": NAME,
            "command": command,
            "python": None if python is None else str(python),
            "target": target,
            "workdir": "." if target.is_root else str(Path.cwd()),
            "output": {
                "compare": self.comparison or plain,
                "path": str(output) if output else None,
                "relative_tolerance": self.relative_tolerance,
                "absolute_tolerance": self.absolute_tolerance,
                "command": words("--compare-command", self.compare_command),
            },
            "ends_with": self.ends_with,
            "user": self.user,
            "timeout_s": self.timeout_s,
            "server": {
                "drive": words("--drive", self.drive),
                "ready": self.ready,
                "address": self.address,
                "stop": self.stop,
            },
        }
        try:
            return checked(given, Workload)
        except MistakeError as error:
            raise UserError(f"{_named(error.key)}: {error.problem}") from None


def _named(key: str) -> str:
    """Return the option that a workload's key is of."""
    name = _OPTION_OF.get(key, key.rpartition(".")[2])
    if name in {spec.name for spec in fields(ProgramOptions)}:
        return f"--{name.replace('_', '-')}"
    return f"the program's {key}"


def words(option: str, text: str | None) -> list[str]:
    """Return the words of a command as a shell takes them. Raises UserError for an open quote."""
    try:
        return shlex.split(text or "")
    except ValueError as error:
        raise UserError(f"{option}: {text!r} given, expected a command ({error})") from None
