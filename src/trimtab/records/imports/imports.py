"""The document of `trimtab imports`: the costs of all imports of a run, by package."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import AboveZero, Amount, ExitCode, Text, Whole, one_of

METHODS = ("monitoring", "counters", "profile")
Signed = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]


@dataclass(frozen=True, config=PART)
class PackageImports:
    """The modules of one package: their own times and memory, and those of which nothing ran.

    `unused_s` is the part of `own_s` in processes in which none of the module's functions ran.
    """

    name: Text
    modules: AboveZero
    unused_modules: Whole
    own_s: Amount
    unused_s: Amount
    own_growth_bytes: Signed


@dataclass(frozen=True, config=PART)
class PythonProcess:
    """A process of Python: its version, and how it was found out what ran.

    `complete` is false if it was killed: then it is unknown what ran.
    """

    command: list[Text]
    python: Text
    method: Annotated[str, one_of(*METHODS)]
    imports: Whole
    complete: bool


class Imports(Document):
    """The imports of a run; `unread_s` is the part of `unused_s` of which no name was read."""

    stage: ClassVar[str] = "trimtab imports"
    version: Literal[1] = 1
    command: list[Text]
    exit_code: ExitCode
    processes: list[PythonProcess]
    modules: Whole
    imports_s: Amount
    unused_s: Amount
    unread_s: Amount
    unknown_s: Amount
    growth_bytes: Signed
    packages: list[PackageImports]
