"""A program whose environment is to be debloated: one YAML in `conf/workload/`."""

from dataclasses import replace
from enum import StrEnum
from importlib.util import find_spec
from typing import Annotated, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    Name,
    NoNul,
    ParameterName,
    Pattern,
    Positive,
    Scalar,
    Text,
    about,
    satisfying,
)
from trimtab.config.groups.enclave import SecureOrNot
from trimtab.config.groups.held_out import HeldOut
from trimtab.config.groups.output import Output
from trimtab.config.groups.tuning import Tuning
from trimtab.config.signals import signal_number

Phase = StrEnum("Phase", "TRAIN INFERENCE")  # what a program does with its model


def _is_end(text: str) -> bool:
    return signal_number(text) is not None or (text.isdecimal() and int(text) < 256)


def _exit_code(end: str) -> int:
    return int(end) if end.isdecimal() else -(signal_number(end) or 0)


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    try:
        host.encode("idna")  # as looking it up does; a part of a name has at most 63 characters
    except UnicodeError:
        return False
    return host.isprintable() and host != "" and port.isdecimal() and 0 < int(port[:6]) < 65536


End = Annotated[
    str, satisfying(_is_end, "an exit code from 0 to 255, or a signal's name such as SIGTERM")
]
Words = Annotated[list[Text], satisfying(len, "a command")]
Signal = Annotated[str, satisfying(signal_number, "a signal's name such as SIGTERM")]
Address = Annotated[str, satisfying(_is_address, "HOST:PORT")]
Variable = Annotated[
    str,
    satisfying(
        lambda name: name and not {"=", "\0"} & set(name),
        "names of environment variables, without `=`",
    ),
]


@dataclass(config=CHECKED, frozen=True)
class ServerConfig:
    """How a program that serves until it is stopped is used in a run.

    It is started; when it is ready `drive` is run, and at the end of that it is stopped. Without
    `drive` the program is none that serves: it ends by itself.
    """

    drive: list[Text] = about(
        "For a server: the command that makes it work, whose standard output is compared. Words "
        "are as in `command`. It runs untraced in the original environment and must exit with 0.",
        factory=list,
    )
    ready: Pattern | None = about(
        "A regular expression: the server is ready when it writes a matching line.",
        default=None,
    )
    address: Address | None = about(
        "HOST:PORT: the server is ready when it accepts connections there.", default=None
    )
    stop: Signal = about("The signal that stops the server.", default="SIGTERM")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        known = (self.ready is not None) + (self.address is not None)
        if self.drive and known != 1:
            raise InvalidValueError("ready", self.ready, "either `ready` or `address`")
        if known and not self.drive:
            raise InvalidValueError("drive", self.drive, "the command that drives the server")
        return self


@dataclass(config=CHECKED, frozen=True)
class Marks:
    """How the program says where it is: regular expressions searched in each line it writes.

    A line counts when its newline has arrived, so the program has to flush it.
    """

    first_iteration: Pattern | None = about(
        "A regular expression: the first matching line ends the start-up, whose time is then "
        "measured.",
        default=None,
    )
    epoch: Pattern | None = about(
        "A regular expression: each matching line ends an epoch. Named groups, as "
        "`(?P<loss>\\S+)`, capture the epoch's scores: numbers.",
        default=None,
    )
    file: Text | None = about(
        "A file with the marks, relative to `workdir`; `{output}` is the run's folder. By default "
        "standard output.",
        default=None,
    )

    @property
    def wanted(self) -> bool:
        """Whether any line has to be looked at."""
        return self.first_iteration is not None or self.epoch is not None


_KIND = satisfying(
    lambda name: find_spec(f"trimtab.debloating.targets.{name}"),
    "a module of trimtab.debloating.targets",
)


@dataclass(config=CHECKED, frozen=True)
class TargetConfig:
    """The environment that the program runs in: it is what is debloated."""

    kind: Annotated[Name, _KIND] = about(
        "Kind of environment: a module of `trimtab.debloating.targets`.",
        default="python_prefix",
    )
    location: Text | None = about(
        "A folder; for an `image` an archive, OCI folder, SIF or an engine's name. "
        "`python_prefix` needs none.",
        default=None,
    )

    @property
    def is_root(self) -> bool:
        """Whether its programs see it as their whole file system."""
        return self.kind in ("root_folder", "image")


# Others may be empty, as in `--prefix ""`.
_NAMES_A_PROGRAM = "at least one word, the first not empty"


@dataclass(config=CHECKED)
class Workload:
    """A program as its user runs it today; it needs no change.

    A relative `python`, `workdir`, `target.location` or path in `output.command` starts at the
    folder that holds `conf/`. In a whole root file system, `python`, `workdir` and `user` are its
    own.
    """

    name: Name = about("The file's stem.")
    command: list[NoNul] = about(
        "The command, a word an item. A first word `python` is the interpreter `python`. `{NAME}` "
        "is the parameter NAME, `{output}` a fresh folder of the run, `\\${` a dollar sign and a "
        "brace. For an `image` it follows the entrypoint; `[]` runs the image's own command."
    )
    python: Text | None = about(
        "The environment's interpreter; none for another kind of `target`.",
        default=None,
    )
    target: TargetConfig = about("The environment that is debloated.", factory=TargetConfig)
    parameters: dict[ParameterName, Scalar] = about(
        "The program's parameters. A word `{batch_size}` of `command` takes the value. Others are "
        "appended as `--batch-size 16`; `true` as `--batch-size`, `false` and null not at all.",
        factory=dict,
    )
    description: NoNul = about("For the report.", default="", report_only=True)
    workdir: Text = about("The command's folder; by default an `image`'s own.", default=".")
    env: dict[Variable, NoNul] = about(
        "Environment variables, added to the inherited ones.", factory=dict
    )
    user: Text | None = about(
        "The program's user, if trimtab runs as root; by default trimtab's own.",
        default=None,
    )
    phase: Phase = about("For the report.", default=Phase.TRAIN, report_only=True)
    model: NoNul = about("The model, for the report.", default="", report_only=True)
    framework: NoNul = about("The framework, for the report.", default="", report_only=True)
    dataset: NoNul = about("The data set, for the report.", default="", report_only=True)
    output: Output = about("The compared output.", factory=Output)
    ends_with: End | None = about(
        "The exit code or signal of a good run. By default 0, for a server also its stop signal. "
        "A held-out input may have its own.",
        default=None,
    )
    server: ServerConfig = about("How a server is driven and stopped.", factory=ServerConfig)
    health_checks: list[Words] = about(
        "A health check, as of a compose file or a Kubernetes probe. What it uses in a root or an "
        "image stays. A server's runs while it serves.",
        factory=list,
        option="health-check",
    )
    marks: Marks = about(
        "Regular expressions for lines that report the program's progress.", factory=Marks
    )
    timeout_s: Positive = about(
        "Longer runs are ended and have failed.",
        default=3600.0,
        unit="s",
        no_result=True,
    )
    memory_gib: Positive = about(
        "Memory of a run, for jobs on a cluster.",
        default=8.0,
        unit="GiB",
        report_only=True,
        no_result=True,
    )
    held_out: dict[Name, HeldOut] = about(
        "Inputs that are not profiled; verification runs each in both environments.",
        factory=dict,
        option="held-out",
        verify_only=True,
    )
    secure: SecureOrNot = about(
        "Whether its jobs run in enclaves only: `true`, or what they do at the border.",
        default=None,
        schedule_only=True,
    )
    tuning: Tuning | None = about(
        "The tuned parameters.",
        default=None,
        tuning_only=True,
    )
    own_profiler: bool = about(
        "Whether the program uses CUDA's profiling interface, as torch.profiler does; kernels are "
        "then traced by name.",
        default=False,
    )

    @model_validator(mode="after")
    def _names_a_program(self) -> Self:
        has_its_own = self.target.kind == "image" and not self.command
        if not has_its_own and not (self.command and self.command[0].strip()):
            raise InvalidValueError("command", self.command, _NAMES_A_PROGRAM)
        return self

    @model_validator(mode="after")
    def _names_its_environment(self) -> Self:
        if self.python is None and self.target.location is None:
            expected = "an interpreter, or a `target` with a `location`"
            raise InvalidValueError("python", None, expected)
        return self

    @model_validator(mode="after")
    def _checks_are_seen(self) -> Self:
        if self.health_checks and not self.target.is_root:
            expected = "none, as engines check only a `target` of kind image or root_folder"
            raise InvalidValueError("health_checks", self.health_checks, expected)
        return self

    @model_validator(mode="after")
    def _placeholders_have_values(self) -> Self:
        for name in self.placed_parameters:
            if self.parameters[name] is None:
                expected = f"a value, as a word of the command has {{{name}}}"
                raise InvalidValueError(f"parameters.{name}", None, expected)
            tuned = self.tuning.parameters if self.tuning else {}
            for full_name in (f"model.{name}", f"training.{name}"):
                if full_name in tuned and None in (tuned[full_name].choices or []):
                    expected = f"values, as a word of the command has {{{name}}}"
                    raise InvalidValueError(f"tuning.{full_name}.choices", None, expected)
        return self

    @model_validator(mode="after")
    def _held_out_inputs_are_its_own(self) -> Self:
        for name, held in self.held_out.items():
            if not (held.command or held.parameters or held.drive):
                expected = "what is another than in the workload"
                raise InvalidValueError(f"held_out.{name}", {}, expected)
            if held.drive and not self.server.drive:
                expected = "none, as the workload is no server"
                raise InvalidValueError(f"held_out.{name}.drive", held.drive, expected)
        return self

    def holding_out(self, name: str) -> "Workload":
        """Return the workload with the input that is held out under `name`.

        Raises InvalidValueError for a command that needs a parameter without a value.
        """
        held = self.held_out[name]
        words = " ".join([*held.command, *held.drive])
        own = {
            name: value
            for name, value in self.parameters.items()
            if not held.command or f"{{{name}}}" in words
        }
        return replace(
            self,
            command=held.command or self.command,
            parameters={**own, **held.parameters},
            server=replace(self.server, drive=held.drive or self.server.drive),
            held_out={},
        )

    @property
    def good_exit_codes(self) -> frozenset[int]:
        """The exit codes, or minus the signals, of a run that ends well.

        That is what `ends_with` says, or 0, and of a server its stop signal too.
        """
        if self.ends_with is not None:
            return frozenset({_exit_code(self.ends_with)})
        return frozenset({0, _exit_code(self.server.stop)} if self.server.drive else {0})

    @property
    def placed_parameters(self) -> list[str]:
        """The parameters that a word of the command, or of the driver's, has a place for."""
        words = " ".join([*self.command, *self.server.drive])
        return [name for name in self.parameters if f"{{{name}}}" in words]
