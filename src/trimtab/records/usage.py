"""`usage.json`: the use of a workload, and whether it is complete."""

import json
from typing import Annotated, ClassVar, Literal, Self

from pydantic import FailFast, Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.misses.saturation import Saturation
from trimtab.records.values import (
    AbsolutePath,
    Amount,
    AnyPath,
    BuildId,
    Digest,
    Text,
    Whole,
    one_of,
)

# How a file was used.
_USE = one_of(
    *("read", "write", "execute", "map", "map_execute"),
    *("stat", "readlink", "list", "link", "missing"),
)
Addresses = Annotated[list[Whole], FailFast()]


@dataclass(frozen=True, config=PART)
class UsedLibrary:
    """A loaded library: its file, and the functions that ran.

    `used_functions` are ELF addresses, rising; so are `used_data`, for data that was read, such as
    GPU code. If `traced` is false they are unknown and nothing of the library may be removed;
    `not_traced_because` says why. `sha256` is of the file after the traced runs, null if it was
    gone.
    """

    path: AbsolutePath
    build_id: BuildId | None
    size_bytes: Whole
    traced: bool
    not_traced_because: Text
    functions_total: Whole
    functions_used: Whole
    used_functions: Addresses = Field(default_factory=list)
    used_data: Addresses = Field(default_factory=list)
    sha256: Digest | None = None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.traced == bool(self.not_traced_because):
            raise ValueError("traced: expected not_traced_because where it is false only")
        if self.functions_used > self.functions_total:
            raise ValueError(f"functions_used: more than all {self.functions_total}")
        if len(self.used_functions) not in (0, self.functions_used):
            raise ValueError("functions_used: not as many as used_functions")
        return self


@dataclass(frozen=True, config=PART)
class UsedFile:
    """A used path, and its uses."""

    path: AnyPath
    real_path: AnyPath | None
    uses: list[Annotated[str, _USE]]


@dataclass(frozen=True, config=PART)
class UsedProcess:
    """A process of the run, and its end."""

    pid: Whole
    parent_pid: Whole
    executable: AnyPath
    end: Annotated[str, one_of("exit", "exec", "killed")]


@dataclass(frozen=True, config=PART)
class UsedGpu:
    """A GPU of the machine: its name and compute capability, e.g. 90 for 9.0."""

    name: Text
    architecture: Whole


@dataclass(frozen=True, config=PART)
class UsedModule:
    """A loaded GPU module, identified by the SHA-256 of its bytes, and its used names.

    The digest is "" for names that no loaded module defines. `kernels` are the mangled names of
    looked-up kernels. With `enumerated` the program listed all kernels, so any may have been used.
    """

    sha256: Digest | Literal[""]
    size_bytes: Whole
    kernels: list[Text]
    globals: list[Text]
    enumerated: bool
    processes: list[Whole]


# Older versions of trimtab assumed that a program that failed once always fails.
_UNASKED_END = ": every run has to end so; --ends-with 0 refuses it"


class Usage(Document):
    """The use of a workload in the traced runs; `notes` are remarks that invalidate nothing.

    For a workload in a root, libraries have their paths outside, and files their paths inside. With
    `files_complete`, `files` has every used file of its environment. `own_calls` are the programs
    and libraries whose code made system calls on files without glibc; for code made at run time it
    is the program. `saturation` says whether the traced runs were enough.
    """

    stage: ClassVar[str] = "profile"
    most_bytes: ClassVar[int] = 1 << 26
    version: Literal[5] = 5
    workload: Text
    command: list[Text]
    complete: bool
    incomplete_because: list[Text] = Field(default_factory=list)
    notes: list[Text] = Field(default_factory=list)
    processes: Annotated[list[UsedProcess], FailFast()] = Field(default_factory=list)
    libraries: Annotated[list[UsedLibrary], FailFast()] = Field(default_factory=list)
    files: Annotated[list[UsedFile], FailFast()] = Field(default_factory=list)
    files_complete: bool = False
    own_calls: Annotated[list[AnyPath], FailFast()] = Field(default_factory=list)
    gpus: Annotated[list[UsedGpu], FailFast()] = Field(default_factory=list)
    modules: Annotated[list[UsedModule], FailFast()] = Field(default_factory=list)
    kernels_traced: bool = False  # whether `modules` has all loaded modules
    kernels_not_traced_because: Text = ""
    saturation: list[Saturation] = Field(default_factory=list)
    trace_s: Amount = 0.0  # wall time of the runs with traced functions

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.complete == bool(self.incomplete_because):
            raise ValueError("complete: expected incomplete_because where it is false only")
        if len({library.path for library in self.libraries}) < len(self.libraries):
            raise ValueError("libraries: a library stands there twice")
        if self.kernels_traced and self.kernels_not_traced_because:
            raise ValueError("kernels_traced: true, but kernels_not_traced_because says why not")
        return self

    @property
    def unasked_end(self) -> str:
        """An end of its runs that nobody asked for, in a note of an older version, or ""."""
        return next((note for note in self.notes if note.endswith(_UNASKED_END)), "")

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
