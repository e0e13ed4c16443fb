"""A code base whose growth is told: one YAML in `conf/code_base/`."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Count, Name, Text, about, satisfying

# What is written by people to be run; data, documentation and what was generated is something else.
_SOURCE_CODE = (
    *("*.py", "*.pyx", "*.pyi", "*.c", "*.cc", "*.cpp", "*.cxx", "*.h", "*.hh", "*.hpp", "*.cu"),
    *("*.cuh", "*.m", "*.mm", "*.java", "*.scala", "*.kt", "*.go", "*.rs", "*.js", "*.jsx"),
    *("*.ts", "*.tsx", "*.swift", "*.rb", "*.R", "*.jl", "*.f", "*.f90", "*.s", "*.S", "*.asm"),
    *("*.sh", "*.bzl", "*.cmake", "*.proto", "*.td", "*.mlir", "*.sql"),
)


@dataclass(config=CHECKED)
class CodeBase:
    """What is counted of a git repository."""

    group: ClassVar[str] = "code_base"
    name: Name = about("Name of the code base: the stem of its file.")
    location: Text = about(
        "The repository's folder, with or without a work tree; `git clone --bare --filter=tree:0` "
        "does not suffice, as contents are read."
    )
    revision: Text = about("The branch, tag or commit up to which is counted.", default="HEAD")
    interval_days: Annotated[Count, Field(le=3660)] = about(
        "Time between two counts, and one at each year's end.", default=30, unit="days"
    )
    files: Annotated[list[Text], satisfying(len, "at least one pattern")] = about(
        "Patterns of the names of files that are counted. By default those of source code.",
        factory=lambda: list(_SOURCE_CODE),
    )
