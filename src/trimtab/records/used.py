"""`used.json` and `byte_code.json`: what a target's workloads used, in more detail."""

from collections.abc import Set
from typing import Annotated, ClassVar, Literal

from pydantic import PlainSerializer
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import AnyPath, PathInside, Text, Whole

_IN_ORDER = PlainSerializer(sorted)


@dataclass(frozen=True, config=PART)
class UsedCode:
    """The code of one library that ran: start addresses of functions, mangled names of kernels."""

    functions: Annotated[frozenset[Whole], _IN_ORDER]
    kernels: Annotated[frozenset[Text], _IN_ORDER]


class UsedCodeByLibrary(Document):
    """`used.json`: the used code by library of LIBRARIES; a missing library is unknown."""

    stage: ClassVar[str] = "debloat"
    most_bytes: ClassVar[int] = 1 << 26
    version: Literal[1] = 1
    libraries: dict[PathInside, UsedCode]


class ByteCodeRead(Document):
    """`byte_code.json`: the byte code that profiled runs read, by its paths in the original.

    What a run of the slim environment missed is not among them.
    """

    stage: ClassVar[str] = "debloat"
    most_bytes: ClassVar[int] = 1 << 26
    version: Literal[1] = 1
    paths: list[AnyPath]


def jaccard(first: Set[object], second: Set[object]) -> float | None:
    """Return |A ∩ B| / |A ∪ B| (Equation 1 of the paper); None if both are empty."""
    union = len(first | second)
    return len(first & second) / union if union else None
