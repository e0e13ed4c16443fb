"""`learned.json`: removed code and files that were missed since, to keep them next time."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.removed_files import MissedFile
from trimtab.records.values import BuildId, Digest, PathInside, Text, Whole, escaped


@dataclass(frozen=True, config=PART)
class LearnedLibrary:
    """The misses of one library, which its digest identifies."""

    build_id: BuildId | None
    size_bytes: Whole
    sha256: Digest
    misses: list[RemovedCall]


class LearnedCode(Document):
    """The misses of a target's `libraries`, by their path in its environment, and `files`."""

    stage: ClassVar[str] = "trimtab advanced learn"
    most_bytes: ClassVar[int] = 1 << 26
    version: Literal[2] = 2
    target: Text
    libraries: dict[PathInside, LearnedLibrary]
    files: list[MissedFile] = Field(default_factory=list)

    @model_validator(mode="after")
    def _are_of_their_library(self) -> Self:
        for name, library in self.libraries.items():
            if any(miss.library != name for miss in library.misses):
                raise ValueError(f"libraries.{escaped(name)}: holds misses of another library")
        return self
