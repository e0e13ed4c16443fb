"""The files in which processes leave what GPU code they used: one a process, one line an event.

Format: `native/records/kernels.h`. Every event is one write to the end of the file, so that a
process that is killed leaves all but perhaps the end of its last line.
"""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from trimtab.errors import TrimtabError
from trimtab.records.usage import UsedGpu


@dataclass(frozen=True)
class LoadedModule:
    """A module that the driver loaded: the SHA-256 of its bytes, and the symbols it defines."""

    sha256: str
    size_bytes: int
    symbols: frozenset[str]


@dataclass
class KernelRecord:
    """What one process used, by name, and what was loaded for it.

    `way` is cupti, or driver where only names could be seen. `listed` are kernels that came up
    when the program listed all of a module. `regions` are the files and offsets of fat binary
    regions that were loaded by their address. `gpus` are named by their PCI bus ids. `lost` says
    that events are missing; `failed` why not all could be recorded.
    """

    pid: int
    parent_pid: int
    way: str
    executable: str
    lost: bool
    gpus: dict[str, UsedGpu] = field(default_factory=dict)
    modules: list[LoadedModule] = field(default_factory=list)
    kernels: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    regions: set[tuple[str, int]] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)


def _module(digest: str, size: str, *symbols: str) -> LoadedModule:
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise ValueError(f"{digest!r} is no SHA-256")
    return LoadedModule(digest, int(size), frozenset(symbols))


def _add(record: KernelRecord, kind: str, words: list[str]) -> None:
    if kind == "module":
        record.modules.append(_module(*words))
    elif kind == "gpu":
        bus, architecture, name = words
        record.gpus[bus] = UsedGpu(name, int(architecture))
    elif kind == "region":
        (place,) = words
        offset, path = place.split(":", 1)
        record.regions.add((path, int(offset, 16)))
    elif kind in ("kernel", "global", "listed", "failed", "cupti"):
        (word,) = words
        if kind == "failed":
            record.failed.append(word)
        elif kind != "cupti":
            names = {"kernel": record.kernels, "global": record.globals, "listed": record.listed}
            names[kind].add(word)
    else:
        raise ValueError(f"unknown event {kind[:20]!r}")


def _begin(line: list[str], lost: bool) -> KernelRecord:
    kind, pid, parent_pid, way, executable = line
    if kind != "process" or way not in ("cupti", "driver"):
        raise ValueError("the first line names no process")
    return KernelRecord(int(pid), int(parent_pid), way, executable, lost)


def _read(path: Path) -> KernelRecord | None:
    """The record in `path`, or None where its process was killed while it wrote the first line."""
    record = None
    whole_lines = path.read_bytes().split(b"\n")[:-1]
    for number, line in enumerate(whole_lines, start=1):
        words = [
            unquote(word, errors="surrogateescape")
            for word in line.decode(errors="surrogateescape").split(" ")
        ]
        try:
            if record is None:
                record = _begin(words, lost=path.suffix == ".lost")
            else:
                _add(record, words[0], words[1:])
        except (ValueError, TypeError) as error:
            raise TrimtabError(
                f"{path}, line {number}: not a record of the GPU code in use ({error})"
            ) from None
    if record is None and path.suffix == ".lost":
        pid = path.name.split("-")[1]
        return KernelRecord(int(pid) if pid.isdecimal() else 0, 0, "", "", lost=True)
    return record


def read_kernel_records(folder: Path) -> list[KernelRecord]:
    """Return what the processes of one traced run left in `folder`, by the names of the files.

    Raises TrimtabError, with file and line, for a file that is no such record.
    """
    records = [_read(path) for path in sorted(folder.glob("kernels-*"))]
    return [record for record in records if record is not None]
