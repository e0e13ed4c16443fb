"""A program of parallel tasks that is run in enclaves: one YAML in `conf/task_program/`."""

from typing import Annotated, ClassVar, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    Count,
    InvalidValueError,
    Name,
    Text,
    about,
    satisfying,
)

Sizes = Annotated[
    list[Count], satisfying(lambda sizes: len(set(sizes)) == len(sizes), "every number once")
]


@dataclass(config=CHECKED)
class TaskProgram:
    """A native program, and how large its data and its tasks are."""

    group: ClassVar[str] = "task_program"
    name: Name = about("Name of the program and its sizes: the stem of the file.")
    program: Name = about("The native program: `make native` builds `trimtab-task-PROGRAM`.")
    size: Count = about("The side of its matrices, or the length of its vectors.")
    block: Count = about("The side of a task's blocks, or the length of its parts.")
    sizes: Sizes = about(
        "Other sizes, with the same block: larger graphs of equal tasks.", factory=list
    )
    blocks: Sizes = about(
        "Other blocks, with the same size: larger tasks for equal data.", factory=list
    )
    network: list[Text] = about(
        "The command that writes what the program runs, `{network}` in it the file's path and "
        "`{folder}` a folder of its own; empty: the program needs none.",
        factory=list,
    )
    label: str = about("What the report calls it; empty: its name.", default="", report_only=True)
    published: str = about(
        "Its name among the run times of SGX-OmpSs' authors; empty: it is not there.",
        default="",
        report_only=True,
    )
    macro: bool = about(
        "Whether it is a whole application: the report has it apart.",
        default=False,
        report_only=True,
    )

    @model_validator(mode="after")
    def _writes_its_network(self) -> Self:
        if self.network and not any("{network}" in word for word in self.network):
            raise InvalidValueError("network", self.network, "a word with `{network}`")
        return self

    @model_validator(mode="after")
    def _divides(self) -> Self:
        for key, size, block in (
            ("block", self.size, self.block),
            *(("sizes", size, self.block) for size in self.sizes),
            *(("blocks", self.size, block) for block in self.blocks),
        ):
            if size % block:
                given = size if key == "sizes" else block
                expected = f"a multiple of the block ({block})"
                if key != "sizes":
                    expected = f"a divisor of the size ({size})"
                raise InvalidValueError(key, given, expected)
        return self

    @property
    def set_ups(self) -> list[tuple[int, int]]:
        """Every size with its block, its own first, each once."""
        others = [(size, self.block) for size in self.sizes]
        others += [(self.size, block) for block in self.blocks]
        return list(dict.fromkeys([(self.size, self.block), *others]))
