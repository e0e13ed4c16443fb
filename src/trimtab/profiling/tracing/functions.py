"""Trace which functions of which libraries a run uses.

The tracer is two small libraries. `libtrimtab-functions.so` is an audit library (rtld-audit(7)).
Before an object's relocation and constructors it overwrites every function that .eh_frame_hdr lists
with traps. The handler marks a function, restores its bytes and continues, so each function costs
once and the program then runs at full speed. `libtrimtab-guard.so` is preloaded. It prevents the
program from masking or handling SIGTRAP, and from losing the tracer at an exec.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.loading import read_loading
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.native import loadable, native_path, with_preload
from trimtab.processes.root import ENGINES_PATH, RootFileSystem
from trimtab.profiling.tracing.function_records import (
    ObjectRecord,
    ProcessRecord,
    TracedRecords,
    read_records,
)
from trimtab.untrusted import new_folder

_LEFT_ALONE = "left-alone"  # TRIMTAB_LEFT_ALONE of native/records/functions.h
# With an audit library glibc (since 2.32) lays out thread-local storage before it knows a program's
# libraries. Libraries that need static storage, such as jemalloc with 2.6 KB, use this reserve.
_STATIC_TLS = "glibc.rtld.optional_static_tls=4096"


@dataclass(frozen=True)
class TracedLibrary:
    """A loaded object of the run, with the ELF addresses of the used functions."""

    path: str
    build_id: str | None
    size_bytes: int
    not_traced_because: str
    functions_total: int
    used_functions: NDArray[np.uint32]

    @property
    def traced(self) -> bool:
        """Whether its functions were traced."""
        return not self.not_traced_because


@dataclass(frozen=True)
class FunctionTrace:
    """The use of traced runs, and why the record is incomplete, if it is.

    `killed_in_each` are the executables that had a killed process in each run. `used_in_each` are
    the functions of each run, by library and ELF address.
    """

    processes: list[ProcessRecord]
    libraries: list[TracedLibrary]
    incomplete_because: list[str]
    killed: list[ProcessRecord]
    killed_in_each: set[str]
    used_in_each: list[set[tuple[str, int]]]


def tracing_environment(
    environment: Mapping[str, str], record: Path, left_alone: Iterable[str] = ()
) -> dict[str, str]:
    """Return `environment` with the function tracer switched on, recording into `record`.

    `record` is emptied, as files of an earlier run would count for this one. Objects whose real
    paths, as programs see them, are in `left_alone` are not traced and do not change.
    """
    new_folder(record)
    if paths := sorted(left_alone):
        (record / _LEFT_ALONE).write_bytes(b"".join(os.fsencode(path) + b"\0" for path in paths))
    tunables = environment.get("GLIBC_TUNABLES")
    return {
        **with_preload(environment, native_path("libtrimtab-guard.so")),
        "TRIMTAB_RECORD": str(record.resolve()),
        "LD_AUDIT": loadable(native_path("libtrimtab-functions.so")),
        "GLIBC_TUNABLES": f"{_STATIC_TLS}:{tunables}" if tunables else _STATIC_TLS,
    }


def read_function_trace(*folders: Path, root: RootFileSystem | None = None) -> FunctionTrace:
    """Return the united use of the runs that recorded into `folders`.

    Records of the same file from several processes and runs are united. For programs in a `root`,
    libraries have their paths outside, and processes their paths inside. Raises TrimtabError for a
    file that is no record.
    """
    each_run = [read_records(folder) for folder in folders]
    if root is not None:
        each_run = [_outside(run, root) for run in each_run]
    records = TracedRecords(
        processes=[process for run in each_run for process in run.processes],
        objects=[loaded for run in each_run for loaded in run.objects],
        expected=[program for run in each_run for program in run.expected],
    )
    by_path: dict[str, list[ObjectRecord]] = {}
    for each in records.objects:
        by_path.setdefault(each.path, []).append(each)
    problems = _problems(records)
    for run in each_run:
        problems += _missing_programs(run, root)
    libraries = []
    for path, objects in sorted(by_path.items()):
        libraries.append(_unite(path, objects))
    return FunctionTrace(
        processes=records.processes,
        libraries=libraries,
        incomplete_because=problems,
        killed=_killed(records),
        killed_in_each=set.intersection(
            *({process.executable for process in _killed(run)} for run in each_run or [records])
        ),
        used_in_each=[
            {(each.path, address) for each in run.objects for address in each.used.tolist()}
            for run in each_run
        ],
    )


def _outside(records: TracedRecords, root: RootFileSystem) -> TracedRecords:
    """Return the records with the outside paths of loaded files, links resolved."""
    objects = [
        replace(each, path=str(root.find(path) or root.outside(path)))
        for each in records.objects
        for path in [PurePath(each.path)]
    ]
    return replace(records, objects=objects)


def _killed(records: TracedRecords) -> list[ProcessRecord]:
    return [process for process in records.processes if process.end == "killed"]


def _file_now(path: str, recorded: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the inode and size of the file at `path` now; `recorded` if there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return recorded  # the run deleted this library
    return {(status.st_ino, status.st_size)}


def _unite(path: str, objects: list[ObjectRecord]) -> TracedLibrary:
    reasons = [each.not_watched_because for each in objects if each.not_watched_because]
    files = {(each.inode, each.size_bytes) for each in objects if each.inode}
    if len(files) > 1 or not files.issuperset(_file_now(path, files)):
        # For example, a compiler made it in each run: the record may be of another file.
        reasons.append("was replaced by another file during the runs")
    used = np.unique(np.concatenate([each.used for each in objects]))
    try:
        build_id = read_elf(Path(path)).build_id
    except (ElfError, OSError):
        build_id = None  # the run deleted this library
    return TracedLibrary(
        path=path,
        build_id=build_id,
        size_bytes=objects[0].size_bytes,
        not_traced_because=reasons[0] if reasons else "",
        functions_total=max(each.functions for each in objects),
        used_functions=used,
    )


def _problems(records: TracedRecords) -> list[str]:
    problems = []
    if not records.processes:
        problems.append(
            "no process was recorded: the program is static, of another architecture or C"
            " library, or runs with raised privileges"
        )
    for process in records.processes:
        if process.lost_records:
            problems.append(
                f"process {process.pid} ({process.executable}): {process.lost_records} records"
                " could not be written: the disk is full, or the process may write or open no more"
                " files, as where it went on as another user (--user NAME runs all of it as one)"
            )
    return problems


def _missing_programs(records: TracedRecords, root: RootFileSystem | None) -> list[str]:
    """Return the programs that processes of a run executed and that left no record.

    If no traced process started a process, as with the run's first one, its first program was not
    announced: one more record is needed for each of its programs that another one replaced.
    """
    begun: Counter[int] = Counter()
    needed = Counter(pid for pid, _ in records.expected)
    replaced: Counter[int] = Counter()
    first: dict[int, ProcessRecord] = {}
    for process in records.processes:
        begun[process.pid] += not process.by_fork
        replaced[process.pid] += process.end == "exec"
        earliest = first.setdefault(process.pid, process)
        if process.started_ns < earliest.started_ns:
            first[process.pid] = process
    for pid, process in first.items():
        needed[pid] = max(needed[pid], replaced[pid] + (not process.by_fork))
    programs: dict[int, list[str]] = {}
    for pid, program in records.expected:
        programs.setdefault(pid, []).append(program)
    return [
        f"process {pid} became {program}, which could not be traced: it is of another"
        " architecture or C library, or runs with raised privileges or as another user"
        for pid, each in programs.items()
        for program in each[max(0, len(each) - needed[pid] + begun[pid]) :]
        if not _is_left_alone(program, root)
    ]


def is_of_go(program: Path) -> bool:
    """Return whether a program is of Go; its functions and its libraries' are not traced.

    It ends by its own system call, and its handlers take SIGTRAP. Raises OSError if it cannot be
    read.
    """
    with program.open("rb") as file:
        loading = read_loading(file)
    return loading is not None and loading.of_go


def _is_left_alone(program: str, root: RootFileSystem | None) -> bool:
    """Whether `program` is of Go, or a static executable, which uses no library's functions."""
    path: Path | str | None = shutil.which(program)
    if root is not None:
        path = root.which(program, ENGINES_PATH, PurePath("/"))
    if path is None:
        return False
    try:
        return is_of_go(Path(path)) or read_elf(Path(path)).is_static_executable
    except (ElfError, OSError):
        return False
