"""`environment.json`: what a slim environment weighs, and what it shares with the original."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document


@dataclass(frozen=True, config=PART)
class LinkedFile:
    """A file of both environments, as it was when the slim one was built: its length and date."""

    size_bytes: int
    modified_ns: int


class BuiltEnvironment(Document):
    """Bytes on disk of the original and the slim environment, each file once.

    `shared_bytes` of the slim one are the original's too: reflinked blocks, and files
    that both have; `linked` are those of machine code, by their path.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: str
    before_bytes: int
    after_bytes: int
    shared_bytes: int
    linked: dict[str, LinkedFile]
