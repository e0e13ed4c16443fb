"""`manifest.json`: what was debloated, for what, and every file before and after."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.misses.saturation import Saturation
from trimtab.records.usage import UsedGpu
from trimtab.records.values import (
    AbsolutePath,
    Amount,
    Digest,
    PathInside,
    Text,
    Whole,
    Word,
    one_of,
)


@dataclass(frozen=True, config=PART)
class Environment:
    """The environment that was debloated: the kind of target that it is, and where it lies."""

    kind: Word
    location: AbsolutePath


@dataclass(frozen=True, config=PART)
class DebloatedFile:
    """A library before and after; digests are SHA-256 in hexadecimal."""

    sha256_before: Digest
    sha256_after: Digest
    size_before_bytes: Whole
    size_after_bytes: Whole


@dataclass(frozen=True, config=PART)
class UnloadedLibrary:
    """A library that no run loaded: its bytes on disk, fewer after `remove: libraries`.

    None are left where it went as a file.
    """

    disk_before_bytes: Whole
    disk_after_bytes: Whole


@dataclass(frozen=True, config=PART)
class RemovedFiles:
    """Regular files that stay and go, each once, and their bytes, before libraries lose code.

    Links and folders are no files; files.parquet has all.
    """

    kept_files: Whole
    kept_bytes: Whole
    removed_files: Whole
    removed_bytes: Whole


@dataclass(frozen=True, config=PART)
class OtherFiles:
    """Files that are no shared libraries, each once: how many, and their bytes on disk.

    Of them those that no run read, or executed, and of both the bytes of the files that stay.
    """

    files: Whole
    disk_bytes: Whole
    kept_disk_bytes: Whole
    unread_files: Whole
    unread_disk_bytes: Whole
    unread_kept_disk_bytes: Whole


@dataclass(frozen=True, config=PART)
class RunTimeModule:
    """A GPU module that was used and is in no library: compiled or linked while the program ran."""

    sha256: Digest | Literal[""]
    size_bytes: Whole
    kernels: list[Text]


@dataclass(frozen=True, config=PART)
class Timings:
    """Wall times: of the runs with functions traced, of locating the code, of rewriting it."""

    trace_s: Amount
    locate_s: Amount
    rewrite_s: Amount


class Manifest(Document):
    """What became of the libraries of a target: `files` are named by their path in it.

    `gpus` are those that GPU code is kept for; without any all is where `gpu_code_kept_because`
    says why, else none. `unloaded` are libraries that no run loaded, those with removed code in
    `files` too. `removed_files` is None where files stay that no run used. `other_files` are those
    that are no libraries, by kind; none where it is not known which were used. With
    `started_by_init` removed files come back to programs that do not load what does that in others.
    `saturation` says how many of several workloads were enough, each being one sample.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: Word
    hardware: Word
    workloads: list[Word]
    environment: Environment
    mode: Annotated[str, one_of("zero", "punch", "compact")]
    symbols: Annotated[str, one_of("strip", "keep")]
    gpus: list[UsedGpu] = Field(default_factory=list)
    gpu_code_kept_because: Text = ""
    modules_made_at_run_time: list[RunTimeModule] = Field(default_factory=list)
    timings: Timings
    files: dict[PathInside, DebloatedFile]
    unloaded: dict[PathInside, UnloadedLibrary] = Field(default_factory=dict)
    removed_files: RemovedFiles | None = None
    other_files: dict[Text, OtherFiles] = Field(default_factory=dict)
    started_by_init: bool = False
    saturation: list[Saturation] = Field(default_factory=list)
