"""The files that the function tracer leaves: one a process, one a loaded object.

Layout: `native/records/functions.h`. A file is a shared mapping of the traced process, so it
is whole up to the process' last instruction however that process ended.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import TrimtabError

_PATH_BYTES = 3072
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
_NOT_WATCHED = {
    0: "",
    1: "the C library runs while every signal is blocked",
    2: "no table of functions (.eh_frame_hdr), or none in one executable segment",
    3: "text relocations",
    4: "its file could not be read a second time",
    5: "the system refused writable code or space for its record",
    6: "part of the tracer",
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
    """A loaded object: `starts` are the ELF addresses of its functions, `used` the mask."""

    path: str
    size_bytes: int
    inode: int
    not_watched_because: str
    starts: NDArray[np.uint32]
    used: NDArray[np.bool_]


@dataclass(frozen=True)
class Records:
    """All that one traced run left; `expected` are programs that processes meant to become."""

    processes: list[ProcessRecord]
    objects: list[ObjectRecord]
    expected: list[tuple[int, str]]


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


def _head(data: bytes, layout: np.dtype[np.void], magic: bytes, path: Path) -> np.void | None:
    """The record's head, or None for a record whose process died while making it."""
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


def _read_process(path: Path) -> ProcessRecord | None:
    head = _head(path.read_bytes(), _PROCESS, b"TRIMTABP", path)
    if head is None:
        return None
    return ProcessRecord(
        pid=int(head["pid"]),
        parent_pid=int(head["parent_pid"]),
        started_ns=int(head["started_ns"]),
        executable=_text(head["executable"]),
        end=_ENDS[int(head["end"])],
        by_fork=bool(head["by_fork"]),
        lost_records=int(head["lost"]),
    )


def _read_object(path: Path) -> ObjectRecord | None:
    data = path.read_bytes()
    head = _head(data, _OBJECT, b"TRIMTABO", path)
    if head is None:
        return None
    count = int(head["function_count"])
    if len(data) < _OBJECT.itemsize + 5 * count:
        raise TrimtabError(f"{path}: cut short, {count} functions do not fit in {len(data)} bytes")
    return ObjectRecord(
        path=_text(head["path"]),
        size_bytes=int(head["size_bytes"]),
        inode=int(head["inode"]),
        not_watched_because=_NOT_WATCHED[int(head["status"])],
        starts=np.frombuffer(data, "<u4", count, _OBJECT.itemsize),
        used=np.frombuffer(data, "u1", count, _OBJECT.itemsize + 4 * count) != 0,
    )


def read_records(directory: Path) -> Records:
    """Return what a traced run left in `directory`.

    Raises TrimtabError for a file that is no record.
    """
    processes = [_read_process(path) for path in sorted(directory.glob("process-*"))]
    objects = [_read_object(path) for path in sorted(directory.glob("object-*"))]
    return Records(
        processes=[process for process in processes if process is not None],
        objects=[each for each in objects if each is not None],
        expected=[
            (int(path.name.split("-")[1]), _text(path.read_bytes()))
            for path in sorted(directory.glob("exec-*"))
        ],
    )
