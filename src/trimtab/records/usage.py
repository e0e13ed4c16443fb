"""`usage.json`: what a workload used, and whether that is all of it."""

import json
from typing import ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document


@dataclass(frozen=True, config=PART)
class UsedLibrary:
    """A library that was loaded: which file it is, and the functions that ran.

    `used_functions` are ELF addresses, rising; so are `used_data`, of what was read and is no
    function, as GPU code. Where `traced` is false they are not known and nothing of the library may
    be removed; `not_traced_because` says why.
    """

    path: str
    build_id: str | None
    size_bytes: int
    traced: bool
    not_traced_because: str
    functions_total: int
    functions_used: int
    used_functions: list[int] = Field(default_factory=list)
    used_data: list[int] = Field(default_factory=list)


@dataclass(frozen=True, config=PART)
class UsedFile:
    """A path that was used, and how: read, write, execute, map, stat, readlink, list, missing."""

    path: str
    real_path: str | None
    uses: list[str]


@dataclass(frozen=True, config=PART)
class UsedProcess:
    """A process of the run; `end` is exit, exec or killed."""

    pid: int
    parent_pid: int
    executable: str
    end: str


@dataclass(frozen=True, config=PART)
class UsedGpu:
    """A GPU of the machine: its name and compute capability, e.g. 90 for 9.0."""

    name: str
    architecture: int


@dataclass(frozen=True, config=PART)
class UsedModule:
    """A GPU module that was loaded, named by the SHA-256 of its bytes, and what was asked of it.

    `kernels` are the mangled names of the kernels that were looked up. With `enumerated` the
    program listed all of them, so that any may have been used.
    """

    sha256: str
    size_bytes: int
    kernels: list[str]
    globals: list[str]
    enumerated: bool
    processes: list[int]


class Usage(Document):
    """What a workload used in the traced runs; `notes` are remarks that make nothing invalid."""

    stage: ClassVar[str] = "profile"
    version: Literal[3] = 3
    workload: str
    command: list[str]
    complete: bool
    incomplete_because: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    processes: list[UsedProcess] = Field(default_factory=list)
    libraries: list[UsedLibrary] = Field(default_factory=list)
    files: list[UsedFile] = Field(default_factory=list)
    gpus: list[UsedGpu] = Field(default_factory=list)
    modules: list[UsedModule] = Field(default_factory=list)
    kernels_traced: bool = False  # whether `modules` are all that were loaded
    kernels_not_traced_because: str = ""
    trace_s: float = 0.0  # wall time of the runs with functions traced

    def to_text(self) -> str:
        """Return the document with one line an entry, so that large files stay readable."""
        lines = []
        for key, value in sorted(self.to_json().items()):
            if isinstance(value, list) and value and isinstance(value[0], dict):
                entries = ",\n  ".join(json.dumps(entry, sort_keys=True) for entry in value)
                lines.append(f" {json.dumps(key)}: [\n  {entries}\n ]")
            else:
                lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
        return "{\n" + ",\n".join(lines) + "\n}\n"
