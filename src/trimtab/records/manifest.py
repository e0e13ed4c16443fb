"""`manifest.json`: what was debloated, for what, and every file before and after."""

from typing import ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.usage import UsedGpu


@dataclass(frozen=True, config=PART)
class Environment:
    """The environment that was debloated: the kind of target that it is, and where it lies."""

    kind: str
    location: str


@dataclass(frozen=True, config=PART)
class DebloatedFile:
    """A library before and after; digests are SHA-256 in hexadecimal."""

    sha256_before: str
    sha256_after: str
    size_before_bytes: int
    size_after_bytes: int


@dataclass(frozen=True, config=PART)
class UnloadedLibrary:
    """A library that no run loaded: its bytes on disk, fewer after `unloaded: remove`."""

    disk_before_bytes: int
    disk_after_bytes: int


@dataclass(frozen=True, config=PART)
class RunTimeModule:
    """A GPU module that was used and is in no library: compiled or linked while the program ran."""

    sha256: str
    size_bytes: int
    kernels: list[str]


@dataclass(frozen=True, config=PART)
class Timings:
    """Wall times: of the runs with functions traced, of locating the code, of rewriting it."""

    trace_s: float
    locate_s: float
    rewrite_s: float


class Manifest(Document):
    """What became of the libraries of a target: `files` are named by their path in it.

    `gpus` are those that GPU code is kept for; without any all is where `gpu_code_kept_because`
    says why, else none. `unloaded` are libraries that no run loaded, those with removed code in
    `files` too.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: str
    hardware: str
    workloads: list[str]
    environment: Environment
    mode: str
    symbols: str
    gpus: list[UsedGpu] = Field(default_factory=list)
    gpu_code_kept_because: str = ""
    modules_made_at_run_time: list[RunTimeModule] = Field(default_factory=list)
    timings: Timings
    files: dict[str, DebloatedFile]
    unloaded: dict[str, UnloadedLibrary] = Field(default_factory=dict)
