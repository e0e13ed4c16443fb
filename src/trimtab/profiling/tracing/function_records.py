"""Read the files of the function tracer: one a process, one a loaded object.

Layout: `native/records/functions.h`. A file is a shared mapping of the traced process, so it is
complete up to the process's last instruction, however the process ended.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import TrimtabError
from trimtab.untrusted import (
    MOST_PATH_BYTES,
    UntrustedFileError,
    is_plain_path,
    names_in_untrusted,
    read_untrusted,
)

_PATH_BYTES = 3072
# All records of a run together. A hundred processes that each load PyTorch for CUDA leave 40,000
# files of 770 MB, with 8,000,000 marked functions.
_MOST_RECORDS = 100_000
_MOST_BYTES = 1 << 30
_MOST_MARKED = 24_000_000
_MOST_RECORD_BYTES = 1 << 28
_LARGEST_FILE_BYTES = 1 << 47
_PROCESS = np.dtype(
    [
        ("magic", "S8"),
        ("pid", "<u4"),
        ("parent_pid", "<u4"),
        ("started_ns", "<u8"),
        ("end", "<u4"),
        ("by_fork", "<u4"),
        ("lost", "<u4"),
        ("reserved", "<u4"),
        ("executable", f"S{_PATH_BYTES}"),
    ]
)
_OBJECT = np.dtype(
    [
        ("magic", "S8"),
        ("pid", "<u4"),
        ("status", "<u4"),
        ("device", "<u8"),
        ("inode", "<u8"),
        ("size_bytes", "<u8"),
        ("function_count", "<u4"),
        ("changed_functions", "<u4"),
        ("path", f"S{_PATH_BYTES}"),
    ]
)
_ENDS = {0: "killed", 1: "exit", 2: "exec"}
NO_FUNCTIONS = "no table of functions (.eh_frame_hdr), or none in one executable segment"
LEFT_ALONE = "it is left as it is: it checks itself, or keep_libraries names it"
_NOT_WATCHED = {
    0: "",
    1: "the C library runs while every signal is blocked",
    2: NO_FUNCTIONS,
    3: "text relocations",
    4: "its file could not be read a second time",
    5: "the system refused writable code or space for its record",
    6: "part of the tracer",
    7: LEFT_ALONE,
}


@dataclass(frozen=True)
class ProcessRecord:
    """A process of the run: `end` is exit, exec or killed (it never reached an exit)."""

    pid: int
    parent_pid: int
    started_ns: int
    executable: str
    end: str
    by_fork: bool
    lost_records: int


@dataclass(frozen=True)
class ObjectRecord:
    """A loaded object: its number of functions, and the ELF addresses of the `used` ones."""

    path: str
    size_bytes: int
    inode: int
    not_watched_because: str
    functions: int
    used: NDArray[np.uint32]


@dataclass(frozen=True)
class TracedRecords:
    """All records of one traced run; `expected` are programs that processes intended to execute."""

    processes: list[ProcessRecord]
    objects: list[ObjectRecord]
    expected: list[tuple[int, str]]


def _path(raw: bytes, record: Path) -> str:
    """Return the path in a record, as given by the kernel; "" without one."""
    text = os.fsdecode(raw)
    if text and not is_plain_path(text):
        raise TrimtabError(f"{record}: not a record of the function tracer: no path of a file")
    return text


def _word(words: dict[int, str], number: int, record: Path) -> str:
    if number not in words:
        raise TrimtabError(f"{record}: not a record of the function tracer: unknown word {number}")
    return words[number]


@dataclass
class _ReadBudget:
    """The remaining limits for reading and keeping one run's records."""

    size_bytes: int
    marked: int

    def read(self, path: Path, most_bytes: int = _MOST_RECORD_BYTES) -> bytes:
        try:
            data = read_untrusted(path, min(most_bytes, max(self.size_bytes, 0)))
        except FileNotFoundError:
            raise UntrustedFileError(f"{path}: went away while the records were read") from None
        self.size_bytes -= len(data)
        return data

    def mark(self, used: NDArray[np.uint32], path: Path) -> NDArray[np.uint32]:
        self.marked -= used.size
        if self.marked < 0:
            raise UntrustedFileError(
                f"{path}: the records of a run mark more than {_MOST_MARKED} functions"
            )
        return used


def _head(data: bytes, layout: np.dtype[np.void], magic: bytes, path: Path) -> np.void | None:
    """Return the record's head, or None if the process died while it made the record."""
    if not data:
        return None
    if len(data) < layout.itemsize:
        raise TrimtabError(f"{path}: {len(data)} bytes, a record has at least {layout.itemsize}")
    head = np.frombuffer(data, layout, 1)[0]
    if head["magic"] == b"":
        return None
    if head["magic"] != magic:
        raise TrimtabError(f"{path}: not a record of the function tracer")
    return head  # type: ignore[no-any-return]


def _read_process(path: Path, left: _ReadBudget) -> ProcessRecord | None:
    head = _head(left.read(path), _PROCESS, b"TRIMTABP", path)
    if head is None:
        return None
    return ProcessRecord(
        pid=int(head["pid"]),
        parent_pid=int(head["parent_pid"]),
        started_ns=int(head["started_ns"]),
        executable=_path(head["executable"], path),
        end=_word(_ENDS, int(head["end"]), path),
        by_fork=bool(head["by_fork"]),
        lost_records=int(head["lost"]),
    )


def _read_object(path: Path, left: _ReadBudget) -> ObjectRecord | None:
    data = left.read(path)
    head = _head(data, _OBJECT, b"TRIMTABO", path)
    if head is None:
        return None
    count = int(head["function_count"])
    if len(data) < _OBJECT.itemsize + 5 * count:
        raise TrimtabError(f"{path}: cut short, {count} functions do not fit in {len(data)} bytes")
    if int(head["size_bytes"]) > _LARGEST_FILE_BYTES:
        raise TrimtabError(f"{path}: not a record of the function tracer: no size of a file")
    starts = np.frombuffer(data, "<u4", count, _OBJECT.itemsize)
    mask = np.frombuffer(data, "u1", count, _OBJECT.itemsize + 4 * count) != 0
    return ObjectRecord(
        path=_path(head["path"] or b"\0", path),  # an object has a path
        size_bytes=int(head["size_bytes"]),
        inode=int(head["inode"]),
        not_watched_because=_word(_NOT_WATCHED, int(head["status"]), path),
        functions=count,
        used=left.mark(starts[mask], path),
    )


def _read_expected(path: Path, left: _ReadBudget) -> tuple[int, str]:
    """Return a process number and the program that it intended to execute, as it named it."""
    pid, program = path.name.split("-")[1], os.fsdecode(left.read(path, MOST_PATH_BYTES))
    if not (pid.isascii() and pid.isdecimal() and len(pid) <= 7) or "\0" in program:
        raise TrimtabError(f"{path}: not a record of the function tracer: no process or program")
    return int(pid), program


def read_records(directory: Path) -> TracedRecords:
    """Return the records of a traced run in `directory`.

    Raises TrimtabError for a file that is no record, and for more than 100,000 records, a GiB or
    24,000,000 used functions together.
    """
    left = _ReadBudget(_MOST_BYTES, _MOST_MARKED)
    by_kind: dict[str, list[Path]] = {"process": [], "object": [], "exec": []}
    for name in names_in_untrusted(directory, _MOST_RECORDS):
        by_kind.get(name.partition("-")[0], []).append(directory / name)
    processes = [_read_process(path, left) for path in by_kind["process"]]
    objects = [_read_object(path, left) for path in by_kind["object"]]
    return TracedRecords(
        processes=[process for process in processes if process is not None],
        objects=[each for each in objects if each is not None],
        expected=[_read_expected(path, left) for path in by_kind["exec"]],
    )
