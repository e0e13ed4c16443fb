"""`learned.json`: removed code that was asked for since, which a target's next libraries keep."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.removed_calls import RemovedCall


@dataclass(frozen=True, config=PART)
class LearnedLibrary:
    """What was missing of one library, as which it is known by its build ID and its size."""

    build_id: str | None
    size_bytes: NonNegativeInt
    misses: list[RemovedCall]


class LearnedCode(Document):
    """What was learned of a target's `libraries`, by their path in its environment."""

    stage: ClassVar[str] = "trimtab learn"
    version: Literal[1] = 1
    target: str
    libraries: Mapping[str, LearnedLibrary]
