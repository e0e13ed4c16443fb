"""A program whose environment is to be debloated: one YAML in `conf/workload/`."""

import re
from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import (
    InvalidValueError,
    about,
    check_name,
    check_not_blank,
    check_number,
    check_one_of,
)

COMPARISONS = ("digest_file", "digest_stdout", "numeric_file")
PHASES = ("train", "inference")


@dataclass
class Output:
    """What of a run's output has to stay the same in the slim environment."""

    compare: str = field(
        default="digest_stdout",
        metadata=about(
            "How the output is compared: `digest_file` (every byte of the file `path`), "
            "`digest_stdout` (every byte of standard output) or `numeric_file` (the numbers in the "
            "file `path`, within the tolerances)."
        ),
    )
    path: str | None = field(
        default=None,
        metadata=about(
            "The file to compare, relative to `workdir`; `{output}` is the run's own folder. "
            "Needed by `digest_file` and `numeric_file`."
        ),
    )
    relative_tolerance: float = field(
        default=0.0,
        metadata=about(
            "Allowed difference of a number, relative to its value; `numeric_file` only."
        ),
    )
    absolute_tolerance: float = field(
        default=0.0,
        metadata=about(
            "Allowed difference of a number; `numeric_file` only. The larger of both tolerances "
            "counts."
        ),
    )

    def __post_init__(self) -> None:
        check_one_of("compare", self.compare, COMPARISONS)
        if self.compare == "digest_stdout" and self.path is not None:
            raise InvalidValueError("path", self.path, "no path with compare: digest_stdout")
        if self.compare != "digest_stdout" and not (self.path or "").strip():
            raise InvalidValueError("path", self.path, f"a file, as compare is {self.compare}")
        for name in ("relative_tolerance", "absolute_tolerance"):
            given = getattr(self, name)
            check_number(name, given, minimum=0)
            if given and self.compare != "numeric_file":
                raise InvalidValueError(name, given, f"0, as compare is {self.compare}")


@dataclass
class Marks:
    """How the program says where it is: regular expressions searched in each line it writes."""

    first_iteration: str | None = field(
        default=None,
        metadata=about(
            "The first line that matches ends the start-up. Without it no start-up time is "
            "measured."
        ),
    )
    epoch: str | None = field(
        default=None,
        metadata=about("Every line that matches ends an epoch. Without it the run is one epoch."),
    )
    file: str | None = field(
        default=None,
        metadata=about(
            "A file to which the program appends its marks, relative to `workdir`; `{output}` is "
            "the run's own folder. Without it the lines of standard output are searched."
        ),
    )

    def __post_init__(self) -> None:
        for name in ("first_iteration", "epoch"):
            try:
                re.compile(getattr(self, name) or "")
            except re.error as error:
                expected = f"a regular expression ({error})"
                raise InvalidValueError(name, getattr(self, name), expected) from None
        if self.file is not None:
            check_not_blank("file", self.file)


@dataclass
class Workload:
    """A program as its user runs it today; it needs no change.

    A relative `python` or `workdir` starts at the folder that holds `conf/`.
    """

    name: str = field(
        default=MISSING, metadata=about("Name of the workload: the stem of its file.")
    )
    command: list[str] = field(
        default=MISSING,
        metadata=about(
            "The command, one word an item. A first word `python` is the interpreter named by "
            "`python`. In every word `{output}` is a fresh folder of the run, and `\\${` stands "
            "for a dollar sign and a brace."
        ),
    )
    python: str = field(
        default=MISSING,
        metadata=about("The interpreter of the environment that is to be debloated."),
    )
    description: str = field(
        default="", metadata=about("What the program does, for the report.", report_only=True)
    )
    workdir: str = field(default=".", metadata=about("The folder that the command runs in."))
    env: dict[str, str] = field(
        default_factory=dict,
        metadata=about("Environment variables of the command, on top of those it inherits."),
    )
    phase: str = field(
        default="train", metadata=about("`train` or `inference`, for the report.", report_only=True)
    )
    model: str = field(
        default="", metadata=about("Name of the model, for the report.", report_only=True)
    )
    framework: str = field(
        default="",
        metadata=about("Name of the machine-learning framework, for the report.", report_only=True),
    )
    dataset: str = field(
        default="",
        metadata=about("The data that the program reads, for the report.", report_only=True),
    )
    output: Output = field(default_factory=Output)
    marks: Marks = field(default_factory=Marks)
    timeout_s: float = field(
        default=3600.0,
        metadata=about(
            "A run that takes longer is ended, with all its processes, and has failed.", unit="s"
        ),
    )
    accept_killed_processes: bool = field(
        default=False,
        metadata=about(
            "Whether the record of a run is complete although one of its processes was killed by a "
            "signal; `true` for programs that end their workers so."
        ),
    )
    own_profiler: bool = field(
        default=False,
        metadata=about(
            "Whether the program uses CUDA's profiling interface itself, as torch.profiler does: "
            "kernels are then traced by their names only."
        ),
    )

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if not self.command:
            raise InvalidValueError("command", [], "at least one word")
        for position, word in enumerate(self.command):
            check_not_blank(f"command[{position}]", word)
        check_not_blank("python", self.python)
        check_not_blank("workdir", self.workdir)
        check_one_of("phase", self.phase, PHASES)
        check_number("timeout_s", self.timeout_s, above=0)
        for variable in self.env:
            if not variable or "=" in variable or "\0" in variable:
                raise InvalidValueError(
                    "env", variable, "names of environment variables, without `=`"
                )
