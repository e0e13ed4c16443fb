"""A program whose environment is to be debloated: one YAML in `conf/workload/`."""

import re
from enum import StrEnum
from importlib.util import find_spec
from typing import Annotated, Any, Self

from pydantic import AfterValidator, model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    Name,
    NotNegative,
    Positive,
    Text,
    about,
    satisfying,
)


class Comparison(StrEnum):
    """What of a run's output is compared."""

    DIGEST_FILE = "digest_file"
    DIGEST_STDOUT = "digest_stdout"
    NUMERIC_FILE = "numeric_file"


class Phase(StrEnum):
    """What a program does with its model."""

    TRAIN = "train"
    INFERENCE = "inference"


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise InvalidValueError("", pattern, f"a regular expression ({error})") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
Variable = Annotated[
    str,
    satisfying(
        lambda name: name and not {"=", "\0"} & set(name),
        "names of environment variables, without `=`",
    ),
]


ParameterName = Annotated[
    Name,
    satisfying(lambda name: name != "output", "another name: {output} is the folder of the run"),
]
Scalar = Annotated[
    Any,
    satisfying(
        lambda value: value is None or isinstance(value, str | int | float),
        "a text, a number, true, false or null",
    ),
]


@dataclass(config=CHECKED, frozen=True)
class Output:
    """What of a run's output has to stay the same in the slim environment."""

    compare: Comparison = about(
        "How the output is compared: `digest_file` (every byte of the file `path`), "
        "`digest_stdout` (every byte of standard output) or `numeric_file` (the numbers in the "
        "file `path`, within the tolerances).",
        default=Comparison.DIGEST_STDOUT,
    )
    path: str | None = about(
        "The file to compare, relative to `workdir`; `{output}` is the run's own folder. Needed "
        "by `digest_file` and `numeric_file`.",
        default=None,
    )
    relative_tolerance: NotNegative = about(
        "Allowed difference of a number, relative to its value; `numeric_file` only.", default=0.0
    )
    absolute_tolerance: NotNegative = about(
        "Allowed difference of a number; `numeric_file` only. The larger of both tolerances "
        "counts.",
        default=0.0,
    )

    @model_validator(mode="after")
    def _fits_the_comparison(self) -> Self:
        if self.compare == Comparison.DIGEST_STDOUT and self.path is not None:
            raise InvalidValueError("path", self.path, "no path with compare: digest_stdout")
        if self.compare != Comparison.DIGEST_STDOUT and not (self.path or "").strip():
            raise InvalidValueError("path", self.path, f"a file, as compare is {self.compare}")
        for key in ("relative_tolerance", "absolute_tolerance"):
            given = getattr(self, key)
            if given and self.compare != Comparison.NUMERIC_FILE:
                raise InvalidValueError(key, given, f"0, as compare is {self.compare}")
        return self


@dataclass(config=CHECKED, frozen=True)
class Marks:
    """How the program says where it is: regular expressions searched in each line it writes.

    A line counts when its newline has arrived, so the program has to flush it.
    """

    first_iteration: Pattern | None = about(
        "The first line that matches ends the start-up. Without it no start-up time is measured.",
        default=None,
    )
    epoch: Pattern | None = about(
        "Every line that matches ends an epoch. Without it the run is one epoch. What its named "
        "groups capture, as `(?P<loss>\\S+)` does, are the epoch's scores: numbers.",
        default=None,
    )
    file: Text | None = about(
        "A file to which the program appends its marks, relative to `workdir`; `{output}` is the "
        "run's own folder. Without it the lines of standard output are searched.",
        default=None,
    )

    @property
    def wanted(self) -> bool:
        """Whether any line has to be looked at."""
        return self.first_iteration is not None or self.epoch is not None


def _is_kind(name: str) -> bool:
    return find_spec(f"trimtab.debloating.targets.{name}") is not None


@dataclass(config=CHECKED, frozen=True)
class TargetConfig:
    """The environment that the program runs in: it is what is debloated."""

    kind: Annotated[Name, satisfying(_is_kind, "a module of trimtab.debloating.targets")] = about(
        "What kind of environment it is: a module of `trimtab.debloating.targets`.",
        default="python_prefix",
    )
    location: Text | None = about(
        "Where it is, as the kind's module says: a folder for most. `python_prefix` needs none: it "
        "is the environment of `python`.",
        default=None,
    )


@dataclass(config=CHECKED)
class Workload:
    """A program as its user runs it today; it needs no change.

    A relative `python`, `workdir` or `target.location` starts at the folder that holds `conf/`.
    """

    name: Name = about("Name of the workload: the stem of its file.")
    command: Annotated[list[Text], satisfying(len, "at least one word")] = about(
        "The command, one word an item. A first word `python` is the interpreter named by "
        "`python`. In every word `{NAME}` is the parameter NAME, `{output}` is a fresh folder of "
        "the run, and `\\${` stands for a dollar sign and a brace."
    )
    python: Text | None = about(
        "The interpreter of the Python environment that is to be debloated; none where `target` "
        "is of another kind.",
        default=None,
    )
    target: TargetConfig = about("The environment that is debloated.", factory=TargetConfig)
    parameters: dict[ParameterName, Scalar] = about(
        "The program's parameters. One that no word of `command` has as `{batch_size}` is "
        "appended as `--batch-size 16`; `true` as `--batch-size` alone, `false` and null not at "
        "all.",
        factory=dict,
    )
    description: str = about("What the program does, for the report.", default="", report_only=True)
    workdir: Text = about("The folder that the command runs in.", default=".")
    env: dict[Variable, str] = about(
        "Environment variables of the command, on top of those it inherits.", factory=dict
    )
    phase: Phase = about(
        "`train` or `inference`, for the report.", default=Phase.TRAIN, report_only=True
    )
    model: str = about("Name of the model, for the report.", default="", report_only=True)
    framework: str = about(
        "Name of the machine-learning framework, for the report.", default="", report_only=True
    )
    dataset: str = about(
        "The data that the program reads, for the report.", default="", report_only=True
    )
    output: Output = about("What is compared.", factory=Output)
    marks: Marks = about("How the program says where it is.", factory=Marks)
    timeout_s: Positive = about(
        "A run that takes longer is ended, with all its processes, and has failed.",
        default=3600.0,
        unit="s",
    )
    accept_killed_processes: bool = about(
        "Whether the record of a run is complete although one of its processes was killed by a "
        "signal; `true` for programs that end their workers so.",
        default=False,
    )
    memory_gib: Positive = about(
        "Memory that a run may need: what its jobs ask for where the workflow runs on a cluster.",
        default=8.0,
        unit="GiB",
        report_only=True,  # no result depends on it
    )
    own_profiler: bool = about(
        "Whether the program uses CUDA's profiling interface itself, as torch.profiler does: "
        "kernels are then traced by their names only.",
        default=False,
    )

    @model_validator(mode="after")
    def _names_its_environment(self) -> Self:
        if self.python is None and self.target.location is None:
            expected = "an interpreter, or a `target` with a `location`"
            raise InvalidValueError("python", None, expected)
        return self

    @model_validator(mode="after")
    def _placeholders_have_values(self) -> Self:
        for name in self.placed_parameters:
            if self.parameters[name] is None:
                expected = f"a value, as a word of the command has {{{name}}}"
                raise InvalidValueError(f"parameters.{name}", None, expected)
        return self

    @property
    def placed_parameters(self) -> list[str]:
        """The parameters that a word of the command has a place for."""
        return [name for name in self.parameters if f"{{{name}}}" in " ".join(self.command)]
