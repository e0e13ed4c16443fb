"""What a slim environment weighs, on disk and compressed, and what it shares with the original."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import AbsolutePath, AnyPath, Digest, PathInside, Text, Whole


@dataclass(frozen=True, config=PART)
class LinkedFile:
    """A file of both environments, as it was when the slim one was built: its length and date."""

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
    """What an installer recorded of the package `name`: the record's place, length and SHA-256."""

    name: Text
    size_bytes: Whole
    sha256: Digest


@dataclass(frozen=True, config=PART)
class OriginalIdentity:
    """What tells whether an original environment is as it was.

    Where all `places` are, nothing was installed or removed. `packages` are those of which
    something is not in the slim environment.
    """

    location: AbsolutePath
    places: list[FileIdentity]
    packages: list[PackageRecord]


class BuiltEnvironment(Document):
    """`environment.json`: bytes on disk of the original and the slim environment, each file once.

    `shared_bytes` of the slim one are the original's too: reflinked blocks, and files
    that both have; `linked` are those of machine code, by their path. `fallback` are the digests of
    the fallback's files in the slim one: programs, and what says of each library what was removed;
    `source` is where these have it from; `original` is the identity of the original where that is
    it.
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
    """`compressed.json`: bytes of all files of the original and the slim environment, compressed.

    Each file counts once; `compression` says in words how.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: Text
    compression: Text
    before_bytes: Whole
    after_bytes: Whole
