"""`usage.json`: what a workload used, and whether that is all of it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trimtab.errors import TrimtabError
from trimtab.files import read_json, whole_file

_VERSION = 2


@dataclass(frozen=True)
class UsedLibrary:
    """A library that was loaded: which file it is, and the functions that ran.

    `used_functions` are ELF addresses, rising. Where `traced` is false they are not known and
    nothing of the library may be removed; `not_traced_because` says why.
    """

    path: str
    build_id: str | None
    size_bytes: int
    traced: bool
    not_traced_because: str
    functions_total: int
    functions_used: int
    used_functions: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class UsedFile:
    """A path that was used, and how: read, write, execute, map, stat, readlink, list, missing."""

    path: str
    real_path: str | None
    uses: list[str]


@dataclass(frozen=True)
class UsedProcess:
    """A process of the run; `end` is exit, exec or killed."""

    pid: int
    parent_pid: int
    executable: str
    end: str


@dataclass(frozen=True)
class UsedGpu:
    """A GPU of the machine: its name and compute capability, e.g. 90 for 9.0."""

    name: str
    architecture: int


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Usage:
    """What a workload used in the traced runs; `notes` are remarks that make nothing invalid."""

    workload: str
    command: list[str]
    complete: bool
    incomplete_because: list[str]
    notes: list[str]
    processes: list[UsedProcess]
    libraries: list[UsedLibrary]
    files: list[UsedFile]
    gpus: list[UsedGpu] = field(default_factory=list)
    modules: list[UsedModule] = field(default_factory=list)
    kernels_traced: bool = False  # whether `modules` are all that were loaded
    kernels_not_traced_because: str = ""
    trace_s: float = 0.0  # wall time of the runs with functions traced


def write_usage(path: Path, usage: Usage) -> None:
    """Write `usage` as JSON, one line an entry, so that large files stay readable."""
    document = {"version": _VERSION, **asdict(usage)}
    lines = []
    for key, value in sorted(document.items()):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n  ".join(json.dumps(each, sort_keys=True) for each in value)
            lines.append(f" {json.dumps(key)}: [\n  {entries}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    with whole_file(path) as temporary:
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read_usage(path: Path) -> Usage:
    """Return the usage in `path`; raises TrimtabError when it is no such document."""
    try:
        document: dict[str, Any] = read_json(path)
        version = document.pop("version")
        if version != _VERSION:
            raise TrimtabError(f"{path}: version {version}, this trimtab reads {_VERSION}")
        lists = {
            "processes": UsedProcess,
            "libraries": UsedLibrary,
            "files": UsedFile,
            "gpus": UsedGpu,
            "modules": UsedModule,
        }
        for key, kind in lists.items():
            document[key] = [kind(**entry) for entry in document[key]]
        return Usage(**document)
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise TrimtabError(f"{path}: not a usage record ({error}); profile again") from None
