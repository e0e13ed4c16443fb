"""Options for a program: the keys of a workload's YAML."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from trimtab.cli.config_options.group import OptionGroup
from trimtab.config.fields import MistakeError
from trimtab.config.groups.output import OutputComparison
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.validate import checked
from trimtab.errors import UserError

NAME = "program"
Command = Annotated[
    list[str], typer.Argument(metavar="-- COMMAND", help="The program, as you run it.")
]
ENDING = ("ends_with", "timeout_s", "server.drive", "server.ready", "server.address", "server.stop")
CHECKED = "health_checks"
UNPROFILED = "held_out"
COMPARED = (
    "output.path", "output.compare", "output.relative_tolerance", "output.absolute_tolerance",
    "output.command",
)  # fmt: skip


class ProgramOptions:
    """A program's options, except its command, by their names in Python.

    `target` may be a TargetConfig, or text as typed. Raises UserError for invalid text.
    """

    def __init__(self, **given: Any) -> None:
        self._given = given
        self.target: TargetConfig | None = given.get("target")
        if isinstance(self.target, str):
            self.target = _target(self.target)
        self.python: Path | None = given.get("python")
        self.output: Path | None = given.get("output")
        self.drive: str | None = given.get("drive")
        self.ends_with: str | None = given.get("ends_with")

    def in_image(self, location: str) -> "ProgramOptions":
        """Return the options for a program in a container image."""
        target = TargetConfig(kind="image", location=location)
        return ProgramOptions(**{**self._given, "target": target})

    @property
    def comparison(self) -> OutputComparison | None:
        """How to compare the output, or None where no option says so."""
        given = self._given
        if given.get("compare") is not None:
            return OutputComparison(given["compare"])
        if "compare_command" in given:
            return OutputComparison.COMMAND
        if given.get("relative_tolerance") or given.get("absolute_tolerance"):
            return OutputComparison.NUMERIC_FILE if self.output else OutputComparison.NUMERIC_STDOUT
        return None

    def workload(self, command: list[str], python: Path | None) -> Workload:
        """Return the workload; paths start at the current folder, or the target's root.

        Raises UserError for an invalid value of a key.
        """
        target = self.target or TargetConfig()
        plain = OutputComparison.DIGEST_FILE if self.output else OutputComparison.DIGEST_STDOUT
        given = {
            **self._given,
            "python": None if python is None else str(python),
            "target": target,
            "compare": self.comparison or plain,
        }
        if self.output is not None:
            given["output"] = str(self.output if target.is_root else self.output.absolute())
        for name in ("drive", "compare_command"):
            if name in given:
                given[name] = words(f"--{name.replace('_', '-')}", given[name])
        if checks := given.get("health_check"):
            given["health_check"] = [words("--health-check", text) for text in checks]
        if UNPROFILED in given:
            commands = [words("--held-out", text) for text in given[UNPROFILED]]
            given[UNPROFILED] = held_out_inputs(commands, is_server=self.drive is not None)
        document = {
            "name": NAME,
            "command": command,
            "workdir": "." if target.is_root else str(Path.cwd()),
            **EVERY_OPTION.nested(given),
        }
        try:
            return checked(document, Workload)
        except MistakeError as error:
            raise EVERY_OPTION.mistake(error) from None


def _filled(given: dict[str, Any], _: Mapping[str, Any]) -> ProgramOptions:
    return ProgramOptions(**given)


def _commands(given: dict[str, Any], _: Mapping[str, Any]) -> list[list[str]]:
    return [words("--held-out", text) for text in given.get(UNPROFILED, ())]


EVERY_OPTION = OptionGroup(
    Workload,
    ("python", "target", *COMPARED, *ENDING, CHECKED, "user", UNPROFILED),
    _filled,
    kinds={
        "python": Path, "target": str, "output.path": Path, "output.command": str,
        "server.drive": str, CHECKED: list[str], UNPROFILED: list[str],
    },
    defaults={"output.compare": None, CHECKED: None},
    shown={
        "python": "the command's",
        "output.path": "standard output",
        "output.compare": "the strictest that two runs pass",
        "ends_with": "0, and for a server its stop signal too",
    },
    metavars={
        "target": "KIND:LOCATION", "server.address": "HOST:PORT", "server.ready": "REGEX",
        "server.drive": "COMMAND", CHECKED: "COMMAND", "output.command": "COMMAND", "user": "NAME",
        UNPROFILED: "COMMAND",
    },
    panel="The program",
)  # fmt: skip
PROGRAM = EVERY_OPTION.only(*(key for key in EVERY_OPTION.keys if key != UNPROFILED))
IN_IMAGE = PROGRAM.only(*COMPARED, *ENDING, CHECKED, "user")  # the image is the target
HELD_OUT = EVERY_OPTION.only(UNPROFILED, fill=_commands, panel=None)


def _target(text: str) -> TargetConfig:
    kind, _, location = text.partition(":")
    try:
        return checked({"kind": kind, "location": location}, TargetConfig)
    except MistakeError as error:
        raise UserError(f"--target {text}: {error}") from None


def held_out_inputs(
    commands: Sequence[Sequence[str]], *, is_server: bool
) -> dict[str, dict[str, list[str]]]:
    """Return a workload's `held_out`: whole commands, or for a server those that drive it."""
    key = "drive" if is_server else "command"
    return {f"input_{number}": {key: [*each]} for number, each in enumerate(commands, 1)}


def words(option: str, text: str) -> list[str]:
    """Split a command into words as a shell does. Raises UserError for an open quote."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"{option}: {text!r} given, expected a command ({error})") from None
