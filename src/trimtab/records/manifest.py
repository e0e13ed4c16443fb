"""`manifest.json`: the debloated target, its options, and every file before and after."""

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
    """The debloated environment: the kind of the target, and its place."""

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

    0 are left if it was removed as a file.
    """

    disk_before_bytes: Whole
    disk_after_bytes: Whole


@dataclass(frozen=True, config=PART)
class RemovedFiles:
    """Numbers and bytes of kept and removed regular files, each once, before libraries lose code.

    Links and folders are not counted; files.parquet lists all.
    """

    kept_files: Whole
    kept_bytes: Whole
    removed_files: Whole
    removed_bytes: Whole


@dataclass(frozen=True, config=PART)
class OtherFiles:
    """Files other than shared libraries, each once: their number, and their bytes on disk.

    Also the files that no run read or executed, and for both the bytes of the kept files.
    """

    files: Whole
    disk_bytes: Whole
    kept_disk_bytes: Whole
    unread_files: Whole
    unread_disk_bytes: Whole
    unread_kept_disk_bytes: Whole


@dataclass(frozen=True, config=PART)
class RunTimeModule:
    """A used GPU module that is in no library: compiled or linked at run time."""

    sha256: Digest | Literal[""]
    size_bytes: Whole
    kernels: list[Text]


@dataclass(frozen=True, config=PART)
class Timings:
    """Wall times: of the runs with traced functions, of locating and of rewriting the code."""

    trace_s: Amount
    locate_s: Amount
    rewrite_s: Amount


class Manifest(Document):
    """The results for the libraries of a target: `files` are by their path in it.

    GPU code is kept for `gpus`; if there are none, all is kept if `gpu_code_kept_because` has a
    reason, otherwise none. `unloaded` are libraries that no run loaded; those with removed code are
    also in `files`. `removed_files` is None if unused files stay. `other_files` are files other
    than libraries, by kind; empty if their use is unknown. With `started_by_init` removed files are
    also restored for programs that do not load the fallback library. `saturation` treats each of
    several workloads as one sample.
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
