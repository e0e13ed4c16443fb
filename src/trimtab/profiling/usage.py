"""Turn the traces of a program into the record of the stage `profile`."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.config.groups.workload import Workload
from trimtab.files import sha256_of_all
from trimtab.places import NATIVE
from trimtab.processes.program import Program
from trimtab.profiling.saturation import saturation_of
from trimtab.profiling.tracing.files import FileTrace, FileUse
from trimtab.profiling.tracing.functions import FunctionTrace
from trimtab.profiling.tracing.kernels import KernelTrace, asks_for_gpu
from trimtab.records.misses.saturation import Saturation
from trimtab.records.usage import Usage, UsedFile, UsedLibrary, UsedProcess
from trimtab.untrusted import UntrustedFileError

_CODE = frozenset({"execute", "map_execute"})
_MOST_LISTED_CHARACTERS, _OF_AN_ENTRY = 1 << 25, 100  # half of the limit of a usage.json
_MOST_NAMED = 5
_MOST_LIBRARY_BYTES = 1 << 36  # of all loaded libraries together


def usage_of(
    workload: Workload,
    program: Program,
    functions: FunctionTrace,
    kernels: KernelTrace,
    files: FileTrace,
    trace_s: float,
) -> Usage:
    """Return the usage of `program` from its traces; its functions took runs of `trace_s` seconds.

    The digests are of the libraries' current files.
    """
    problems = [
        *functions.incomplete_because,
        *kernels.incomplete_because,
        *_without_record(functions, kernels),
        *files.incomplete_because,
    ]
    notes = []
    killed = {process.executable for process in functions.killed}  # by itself or others
    as_untraced = {process.executable for process in files.processes if process.end == "killed"}
    if killed:
        notes.append(
            f"killed before their exit: {len(functions.killed)} processes of"
            f" {', '.join(sorted(killed))}; what they had used until then counts"
        )
    # In only some runs it is chance: a server's worker or a notebook's kernel was too slow to end
    # by itself. The other runs have its further use.
    problems += [
        f"a process of {executable} was killed while its functions were traced, and only then"
        for executable in sorted(functions.killed_in_each - as_untraced)
    ]
    listed, has_all = _listed(files, _is_of_environment(workload, program))
    if len(listed) < len(files.files):
        notes.append(
            f"{len(files.files):,} files were used, and of those that are no code only"
            f" {len(listed):,} are listed in usage.json"
        )
    if files.witnessed_only:
        some = ", ".join(files.witnessed_only[:_MOST_NAMED])
        notes.append(
            f"{len(files.witnessed_only):,} files were opened by the kernel, or by calls that"
            f" cannot be followed, as only fanotify saw: {some}"
        )
    try:
        digests = _digests_of([each.path for each in functions.libraries])
    except UntrustedFileError as error:
        digests = {}
        problems.append(str(error))
    return Usage(
        workload=workload.name,
        command=list(program.command),
        complete=not problems,
        incomplete_because=problems,
        notes=notes,
        processes=[
            UsedProcess(each.pid, each.parent_pid, each.executable, each.end)
            for each in functions.processes
        ],
        libraries=[
            UsedLibrary(
                path=each.path,
                build_id=each.build_id,
                size_bytes=each.size_bytes,
                sha256=digests.get(each.path),
                traced=each.traced,
                not_traced_because=each.not_traced_because,
                functions_total=each.functions_total,
                functions_used=len(each.used_functions),
                used_functions=each.used_functions.tolist(),
            )
            for each in functions.libraries
            if not Path(each.path).is_relative_to(NATIVE)
        ],
        files_complete=files.complete and has_all,
        files=[UsedFile(each.path, each.real_path, sorted(each.uses)) for each in listed],
        own_calls=list(files.own_calls),
        gpus=kernels.gpus,
        modules=kernels.modules,
        kernels_traced=kernels.traced,
        kernels_not_traced_because=kernels.not_traced_because,
        saturation=_saturation(functions),
        trace_s=trace_s,
    )


def _saturation(functions: FunctionTrace) -> list[Saturation]:
    libraries = {library for run in functions.used_in_each for library, _ in run}
    ours = {library for library in libraries if Path(library).is_relative_to(NATIVE)}
    each_run = [{use for use in run if use[0] not in ours} for run in functions.used_in_each]
    found = saturation_of("functions", "run", each_run)
    return [] if found is None else [found]


def _is_of_environment(workload: Workload, program: Program) -> Callable[[str], bool]:
    """Whether a path, by any links, is in the environment that may be debloated."""
    if program.root is not None:
        bound = tuple(program.root.bound)
        return lambda path: not f"{path}/".startswith(bound)
    folder = workload.target.location or Path(workload.python or "").parent.parent
    tops = tuple(f"{each(folder)}/" for each in (os.path.abspath, os.path.realpath))
    return lambda path: f"{path}/".startswith(tops)


def _listed(
    files: FileTrace, is_of_environment: Callable[[str], bool]
) -> tuple[list[FileUse], bool]:
    """Return the files to list, and whether all files of the environment are among them.

    All files are listed if they fit; those of a data set do not. Files of code are always listed,
    and files of the environment before others.
    """

    def goes_first(file: FileUse) -> bool:
        return not _CODE.isdisjoint(file.uses) or is_of_environment(file.path)

    left_characters, listed, has_all = _MOST_LISTED_CHARACTERS, [], True
    for file in sorted(files.files, key=goes_first, reverse=True):
        left_characters -= len(ascii(file.path)) + len(ascii(file.real_path)) + _OF_AN_ENTRY
        if left_characters >= 0 or not _CODE.isdisjoint(file.uses):
            listed.append(file)
        elif has_all:
            has_all = not is_of_environment(file.path)
    return sorted(listed, key=lambda file: file.path), has_all


def _digests_of(libraries: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each library that still exists and is readable.

    Raises UntrustedFileError above 64 GiB of all: a record may name an endless file, such as one of
    the kernel's.
    """
    there, left_bytes = [], _MOST_LIBRARY_BYTES
    for path in map(Path, libraries):
        if os.access(path, os.R_OK) and path.is_file() and (size_bytes := path.stat().st_size):
            there.append(path)
            left_bytes -= size_bytes
        if left_bytes < 0:
            raise UntrustedFileError(
                f"{path}: with the libraries before it more than {_MOST_LIBRARY_BYTES} bytes are"
                " said to have been loaded"
            )
    return {str(path): digest for path, digest in sha256_of_all(there).items()}


def _without_record(functions: FunctionTrace, kernels: KernelTrace) -> list[str]:
    """Return a problem if the program asked for a GPU but no process recorded GPU code."""
    if not kernels.traced or kernels.gpus:
        return []
    for library in functions.libraries:
        if Path(library.path).name.startswith("libcuda.so"):
            names = function_names(read_elf(Path(library.path)))
            if asks_for_gpu(names.of(address) for address in library.used_functions):
                return ["the program used a GPU, but no record of its GPU code was made"]
    return []
