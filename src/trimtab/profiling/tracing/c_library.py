"""Whether the function tracer can work in a root, and what is known where it cannot.

It takes part in how programs are loaded: the C library has to be glibc, no older than the one that
`libtrimtab-guard.so` was linked with. Here that is the machine's; a root has its own.
"""

import subprocess
from pathlib import Path, PurePath

import numpy as np

from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.errors import ElfError
from trimtab.native import loadable, native_path
from trimtab.profiling.runs.program import Program
from trimtab.profiling.runs.root import Root
from trimtab.profiling.tracing.files import FileTrace
from trimtab.profiling.tracing.function_records import ProcessRecord
from trimtab.profiling.tracing.functions import FunctionTrace, TracedLibrary

_LINKER = "ld-linux-x86-64.so.2"
_PATIENCE_S = 60
_MOST_INTERPRETERS, _LONGEST_LINE_BYTES = 5, 256  # as of Linux


def why_functions_stay_unknown(program: Program) -> str:
    """Return why the functions that `program` uses in its root cannot be traced, or nothing.

    A script is judged by its interpreter, and what it starts by what it is started by. Raises
    UserError where the root cannot be entered.
    """
    root = program.root
    if root is None:
        return ""
    search = program.environment.get("PATH", "")
    found = root.which(program.command[0], search, program.workdir)
    for _ in range(_MOST_INTERPRETERS):
        interpreter = None if found is None else _script_interpreter(found)
        if interpreter is None:
            break
        found = root.find(PurePath("/") / program.workdir / interpreter)
    if found is None:
        return ""  # that it is not there is for its run to say
    try:
        elf = read_elf(found)
    except (ElfError, OSError) as error:
        return f"{root.inside(found)} is no program for this machine ({error})"
    return _why_not_loaded(root, found, elf)


def _script_interpreter(path: Path) -> str | None:
    """The interpreter that the first line of a script names; None for what is no script."""
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST_LINE_BYTES)
    except OSError:
        return None
    words = line[2:].split()
    return words[0].decode(errors="surrogateescape") if line.startswith(b"#!") and words else None


def _why_not_loaded(root: Root, path: Path, elf: Elf) -> str:
    program = root.inside(path)
    if elf.interpreter is None:
        return f"{program} is a static program"
    if PurePath(elf.interpreter).name != _LINKER:
        return f"the C library of {program} is not glibc: {elf.interpreter} loads it"
    guard = native_path("libtrimtab-guard.so")
    words = root.entering([elf.interpreter, "--list", str(program)], PurePath("/"), None)
    try:
        listed = subprocess.run(
            words,
            env={"LD_PRELOAD": loadable(guard)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return f"{elf.interpreter} does not say whether it can load {program}"
    said = listed.stderr.decode(errors="replace").strip()
    if listed.returncode == 0 and guard.name not in said:  # it lists what it could not load, too
        return ""
    last = said.removeprefix(f"{program}: ").splitlines()[-1:] or ["it does not say why"]
    return f"the C library of {program} does not load {guard.name}: {last[0]}"


def untraced_functions(files: FileTrace, root: Root, why: str) -> FunctionTrace:
    """Return the libraries that a file trace says were loaded in `root`, with no function known."""
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
            continue  # no library, or one that the run made and deleted
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
    return FunctionTrace(processes, libraries, [], [], set())
