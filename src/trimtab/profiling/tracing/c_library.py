"""Check that the function tracer works in a root; list the loaded libraries if it does not.

It takes part in the loading of programs: the C library has to be glibc, no older than the version
that `libtrimtab-guard.so` was linked with. Here that is the machine's; a root has its own.
"""

import subprocess
from collections.abc import Mapping
from pathlib import PurePath

import numpy as np

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.native import loadable, native_path
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.tracing.files import FileTrace
from trimtab.profiling.tracing.function_records import ProcessRecord
from trimtab.profiling.tracing.functions import FunctionTrace, TracedLibrary, is_of_go

_LINKER = "ld-linux-x86-64.so.2"
_PATIENCE_S = 60


def why_functions_stay_unknown(
    files: FileTrace, root: RootFileSystem, environment: Mapping[str, str]
) -> str:
    """Return why the functions that a run used in `root` cannot be traced, or "".

    `files` is a trace of the run's files, `environment` its variables. Static programs use no
    library's functions, and programs of Go are not traced; but they may start others. Raises
    UserError if the root cannot be entered.
    """
    by_linker: dict[str, PurePath] = {}
    for path in sorted({process.executable for process in files.processes if process.executable}):
        try:
            elf = read_elf(root.outside(PurePath(path)))
            of_go = is_of_go(root.outside(PurePath(path)))
        except (ElfError, OSError):
            continue  # the run deleted it, or it is a program that our libraries do not support
        if elf.interpreter is not None and not of_go:
            by_linker.setdefault(elf.interpreter, PurePath(path))
    if not by_linker:
        return "all of its programs are static or of Go"
    reasons = (
        _why_not_loaded(root, linker, program, environment) for linker, program in by_linker.items()
    )
    return next(filter(None, reasons), "")


def _why_not_loaded(
    root: RootFileSystem, linker: str, program: PurePath, environment: Mapping[str, str]
) -> str:
    """Return why the C library of `linker` loads no tracer into `program`."""
    if PurePath(linker).name != _LINKER:
        return f"the C library of {program} is not glibc: {linker} loads it"
    guard = native_path("libtrimtab-guard.so")
    try:
        listed = subprocess.run(
            root.entering([linker, "--list", str(program)], PurePath("/"), None),
            env={**environment, "LD_PRELOAD": loadable(guard)},  # LD_LIBRARY_PATH may be needed
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return f"{linker} does not say whether it can load {program}"
    said = listed.stderr.decode(errors="replace").strip()
    if listed.returncode == 0 and guard.name not in said:  # it also lists failed loads
        return ""
    last = said.removeprefix(f"{program}: ").splitlines()[-1:] or ["it does not say why"]
    return f"the C library of {program} does not load {guard.name}: {last[0]}"


def untraced_functions(files: FileTrace, root: RootFileSystem, why: str) -> FunctionTrace:
    """Return the libraries that a file trace has as loaded in `root`, without known functions."""
    loaded = {
        root.outside(PurePath(file.real_path))
        for file in files.files
        if file.real_path is not None and "map_execute" in file.uses
    }
    libraries = []
    for path in sorted(loaded):
        try:
            elf = read_elf(path)
        except (ElfError, OSError):
            continue  # not a library, or the run deleted it
        nothing = np.empty(0, np.uint32)
        libraries.append(TracedLibrary(str(path), elf.build_id, elf.size_bytes, why, 0, nothing))
    processes = [
        ProcessRecord(
            pid=each.pid,
            parent_pid=each.parent_pid,
            started_ns=0,
            executable=each.executable,
            end="killed" if each.end == "unknown" else each.end,
            by_fork=False,
            lost_records=0,
        )
        for each in files.processes
    ]
    return FunctionTrace(processes, libraries, [], [], set(), [])
