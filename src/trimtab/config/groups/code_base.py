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
    """A git repository whose lines are counted."""

    group: ClassVar[str] = "code_base"
    name: Name = about("The file's stem.")
    location: Text = about(
        "The repository's folder. A clone with `--filter=tree:0` lacks the contents."
    )
    revision: Text = about("Last counted commit: a branch, tag or commit.", default="HEAD")
    interval_days: Annotated[Count, Field(le=3660)] = about(
        "Time between two counts; each year's end is counted too.", default=30, unit="days"
    )
    files: Annotated[list[Text], satisfying(len, "at least one pattern")] = about(
        "Patterns of names of counted files; by default source code.",
        factory=lambda: list(_SOURCE_CODE),
    )
