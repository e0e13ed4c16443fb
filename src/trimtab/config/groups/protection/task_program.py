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
    name: Name = about("The file's stem.")
    program: Name = about("The native program `trimtab-task-PROGRAM`.")
    size: Count = about("Side of its matrices, or length of its vectors.")
    block: Count = about("Side of a task's blocks, or length of its parts.")
    sizes: Sizes = about("Other sizes with this block: larger graphs.", factory=list)
    blocks: Sizes = about("Other blocks with this size: larger tasks.", factory=list)
    network: list[Text] = about(
        "The command that writes the program's input to `{network}`; `{folder}` is a folder of "
        "its own. Empty: no input.",
        factory=list,
    )
    label: str = about("Name in the report; empty: `name`.", default="", report_only=True)
    published: str = about(
        "Name in the run times of SGX-OmpSs' authors; empty: none.",
        default="",
        report_only=True,
    )
    macro: bool = about(
        "Whether it is a whole application, reported apart.",
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
