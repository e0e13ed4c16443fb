"""The sizes of a slim environment, on disk and compressed, and what the original shares with it."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import AbsolutePath, AnyPath, Digest, PathInside, Text, Whole


@dataclass(frozen=True, config=PART)
class LinkedFile:
    """A file of both environments, with its length and date when the slim one was built."""

    size_bytes: Whole
    modified_ns: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]


@dataclass(frozen=True, config=PART)
class FileIdentity:
    """A file or folder below an original environment: its inode and its date."""

    path: AnyPath
    file: Annotated[int, Field(ge=0, lt=1 << 64)]
    modified_ns: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]


@dataclass(frozen=True, config=PART)
class PackageRecord(FileIdentity):
    """An installer's record of the package `name`: its place, length and SHA-256."""

    name: Text
    size_bytes: Whole
    sha256: Digest


@dataclass(frozen=True, config=PART)
class OriginalIdentity:
    """The identity of an original environment, to detect changes.

    If all `places` are unchanged, nothing was installed or removed. `packages` are the packages
    that the slim environment lacks parts of.
    """

    location: AbsolutePath
    places: list[FileIdentity]
    packages: list[PackageRecord]


class BuiltEnvironment(Document):
    """`environment.json`: bytes on disk of the original and the slim environment, each file once.

    `shared_bytes` of the slim one also belong to the original: reflinked blocks and hard links;
    `linked` are the links with machine code, by path. `fallback` are the digests of the fallback's
    files in the slim one: programs, and the lists of removed parts. `source` is where missing
    pieces come from; `original` is the original's identity if it is the source.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[2] = 2
    target: Text
    before_bytes: Whole
    after_bytes: Whole
    shared_bytes: Whole
    linked: dict[PathInside, LinkedFile]
    fallback: dict[PathInside, Digest] = Field(default_factory=dict)
    source: Text = "original"
    original: OriginalIdentity | None = None

    @model_validator(mode="after")
    def _shares_no_more_than_it_has(self) -> Self:
        if self.shared_bytes > self.after_bytes:
            raise ValueError(f"shared_bytes: more than all {self.after_bytes} bytes of it")
        return self


class CompressedEnvironment(Document):
    """`compressed.json`: compressed bytes of all files of the original and the slim environment.

    Each file counts once; `compression` names the method.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: Text
    compression: Text
    before_bytes: Whole
    after_bytes: Whole
