"""Read the processes' records of used GPU code: one file a process, one line an event.

Format: `native/records/kernels.h`. Every event is one write to the end of the file, so a killed
process loses at most the end of its last line.
"""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from trimtab.errors import TrimtabError
from trimtab.records.usage import UsedGpu
from trimtab.untrusted import (
    UntrustedFileError,
    is_plain_path,
    lines_of_untrusted,
    names_in_untrusted,
)

# All records of a run together. The largest known runs have a few hundred processes, and modules
# with a few thousand symbols.
_MOST_RECORDS = 100_000
_MOST_BYTES = 1 << 27
_MOST_WORDS = 4_000_000
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_LARGEST = 1 << 47  # limit of numbers: sizes and offsets in files


@dataclass(frozen=True)
class LoadedModule:
    """A module that the driver loaded: the SHA-256 of its bytes, and its defined symbols."""

    sha256: str
    size_bytes: int
    symbols: frozenset[str]


@dataclass
class KernelRecord:
    """The GPU code that one process used, by name, and the modules loaded for it.

    `way` is cupti, or driver if only names were visible. `listed` are kernels found when the
    program listed all of a module. `regions` are files and offsets of fat binary regions that were
    loaded by address. `gpus` are PCI bus ids. `lost`: events are missing. `failed` says why
    recording failed in part.
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
        raise ValueError("no SHA-256")
    return LoadedModule(digest, _number(size), frozenset(symbols))


def _number(word: str, base: int = 10) -> int:
    """Parse a number as C prints one: int() also takes signs, blanks and other scripts' digits."""
    if not word or set(word) - _HEXADECIMAL or len(word) > 16 or int(word, base) > _LARGEST:
        raise ValueError("no number, or one out of range")
    return int(word, base)


def _add(record: KernelRecord, kind: str, words: list[str]) -> None:
    if kind == "module":
        record.modules.append(_module(*words))
    elif kind == "gpu":
        bus, architecture, name = words
        record.gpus[bus] = UsedGpu(name, _number(architecture))
    elif kind == "region":
        (place,) = words
        offset, path = place.split(":", 1)
        if not is_plain_path(path):
            raise ValueError("no path of a file")
        record.regions.add((path, _number(offset, 16)))
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
    if executable and not is_plain_path(executable):
        raise ValueError("no path of a program")
    return KernelRecord(_number(pid), _number(parent_pid), way, executable, lost)


@dataclass
class _KernelReadBudget:
    """The remaining limits for reading one run's records."""

    size_bytes: int
    words: int


def _read(path: Path, left: _KernelReadBudget) -> KernelRecord | None:
    """Return the record in `path`, or None if its process was killed during the first line."""
    record = None
    for number, line in enumerate(
        lines_of_untrusted(path, left.size_bytes, left.words + 1), start=1
    ):
        parts = line.split(b" ", left.words)
        left.size_bytes -= len(line) + 1
        left.words -= len(parts)
        if left.words < 0:
            raise UntrustedFileError(f"{path}: the records of a run have over {_MOST_WORDS} words")
        words = [unquote(part.decode(errors="surrogateescape"), errors="surrogateescape")
                 for part in parts]  # fmt: skip
        try:
            if any("\0" in word for word in words):
                raise ValueError("a zero byte")
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
        known = pid.isascii() and pid.isdecimal() and len(pid) <= 7
        return KernelRecord(int(pid) if known else 0, 0, "", "", lost=True)
    return record


def read_kernel_records(folder: Path) -> list[KernelRecord]:
    """Return the records of the processes of one traced run in `folder`, by file name.

    Raises TrimtabError, with file and line, for a file that is no such record, and for more than
    100,000 records, 128 MiB or 4,000,000 words together.
    """
    left = _KernelReadBudget(_MOST_BYTES, _MOST_WORDS)
    names = names_in_untrusted(folder, _MOST_RECORDS)
    records = [_read(folder / name, left) for name in names if name.startswith("kernels-")]
    return [record for record in records if record is not None]
