"""The stage `profile`: what a workload uses, in traced runs, and what it costs, in plain ones."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Profiling
from trimtab.errors import UserError
from trimtab.files import remove_tree, sha256_of_all
from trimtab.native import BUILD
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel
from trimtab.profiling.runs.comparable import check_steady
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.measured import MeasuredRun, check_run, epochs_table, runs_table
from trimtab.profiling.runs.program import Program
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.traced_runs import (
    differing_outputs,
    read_functions,
    trace_runs,
)
from trimtab.profiling.tracing.files import FileTrace, FileUse, read_file_trace, tracing_command
from trimtab.profiling.tracing.functions import FunctionTrace
from trimtab.profiling.tracing.kernels import KernelTrace, asks_for_gpu, read_kernel_trace
from trimtab.records.tables import EPOCHS, RUNS, write_table
from trimtab.records.usage import Usage, UsedFile, UsedLibrary, UsedProcess
from trimtab.untrusted import UntrustedFileError

_FILES = "files.jsonl"
_CODE = frozenset({"execute", "map_execute"})
_MOST_LISTED_CHARACTERS, _OF_AN_ENTRY = 1 << 25, 100  # half of what a usage.json may have
_MOST_LIBRARY_BYTES = 1 << 36  # that a program loads, all together


def profile_workload(
    workload: Workload, hardware: Hardware, profiling: Profiling, destination: Path
) -> None:
    """Run `workload` plain and traced; write usage.json, runs.parquet and epochs.parquet.

    Logs and records of the runs stay in `destination`/runs. Raises UserError when a run fails.
    """
    folder = destination / "runs"
    remove_tree(folder)
    model = model_of(hardware)
    program = program_of(workload, folder / "output")
    runs: list[MeasuredRun] = []
    for repeat in range(profiling.repeats):
        runs.append(_run(program, "original", repeat, model, folder, profiling.sample_interval_s))
        program = program.ending_as(runs[0].exit_code)
        check_steady(program, runs[0], runs[-1])
    usage, traced = trace_program(
        workload, program, model, folder, profiling.traced_runs, plain=runs[0]
    )
    runs += traced
    write_table(destination / "runs.parquet", RUNS, runs_table(workload.name, runs))
    write_table(destination / "epochs.parquet", EPOCHS, epochs_table(workload.name, runs))
    usage.write(destination / "usage.json")


def trace_workload(workload: Workload, folder: Path, traced_runs: int = 3) -> Usage:
    """Run `workload` with its code traced and once with its files, and return what it used.

    `traced_runs` runs are traced for functions and, with a GPU, kernels; all that any of them used
    counts.

    Logs and records stay in `folder`. Raises UserError when a run fails.
    """
    remove_tree(folder)
    program = program_of(workload, folder / "output")
    return trace_program(workload, program, NO_POWER_MODEL, folder, traced_runs)[0]


def model_of(hardware: Hardware) -> HardwareModel:
    """Return the power model that a hardware YAML describes."""
    return HardwareModel(
        name=hardware.name,
        cores=hardware.cores,
        idle_w=hardware.idle_w,
        busy_w=hardware.busy_w,
        memory_w_per_gib=hardware.memory_w_per_gib,
        memory_gib=hardware.memory_gib,
        power_relative_error=hardware.power_relative_error,
        source=hardware.power_source,
    )


def follow_files(program: Program, hardware: HardwareModel, folder: Path) -> MeasuredRun:
    """Run `program`, its code as it is, with its files followed; the record stays in `folder`.

    Raises UserError when the run fails, with what the tracer could not follow.
    """
    followed = with_files_followed(program, folder / _FILES)
    with _telling_what_was_not_followed(folder):
        return _run(followed, "traced_files", 0, hardware, folder)


@contextmanager
def _telling_what_was_not_followed(folder: Path) -> Iterator[None]:
    """Add to a UserError what the tracer of files could not follow: why a run failed, perhaps."""
    record = folder / _FILES
    try:
        yield
    except UserError as error:
        told = read_file_trace(record).told if record.exists() else ()
        because = f"\nits files cannot be followed: {told[0]}" if told else ""
        raise UserError(f"{error}{because}") from None


def with_files_followed(program: Program, record: Path) -> Program:
    """Return `program` run by the file tracer, which writes to `record`."""
    record.parent.mkdir(parents=True, exist_ok=True)
    command = tracing_command(program.command, record)
    if program.user is not None or program.root is not None:  # the tracer may make no file there
        record.touch()
        program = program.with_access_to(record)
    return replace(program, command=command, by_tracer=True)


def trace_program(
    workload: Workload,
    program: Program,
    hardware: HardwareModel,
    folder: Path,
    traced_runs: int,
    plain: MeasuredRun | None = None,
    followed: MeasuredRun | None = None,
) -> tuple[Usage, list[MeasuredRun]]:
    """Return what `program` used in `traced_runs` traced runs and one that follows its files.

    `plain` is a run as it is, and `followed` one of `follow_files` into `folder`, where these were
    made before. Returns the runs that were made with them. Raises UserError when one fails.
    """
    # First, as it says in a word where a program is none that can be traced.
    files_run = followed or follow_files(program, hardware, folder)
    program = program.ending_as(files_run.exit_code)
    with _telling_what_was_not_followed(folder):
        traced = trace_runs(workload, program, hardware, folder, traced_runs)
    functions = read_functions(traced)
    kernels = read_kernel_trace(*(each.kernels for each in traced if each.kernels))
    files = read_file_trace(folder / _FILES)
    runs = [each.run for each in traced if each.run and not each.problem]
    trace_s = sum(run.wall_s for run in runs)
    usage = _usage(workload, program, functions, kernels, files, trace_s)
    problems = [
        *usage.incomplete_because,
        *differing_outputs(program, traced, plain or files_run, hardware, folder),
    ]
    changes = {
        "complete": not problems,
        "incomplete_because": problems,
        "notes": [*usage.notes, *(each.note for each in traced if each.problem)],
    }
    return usage.model_copy(update=changes), [*runs, files_run]


def _run(
    program: Program,
    condition: str,
    repeat: int,
    hardware: HardwareModel,
    folder: Path,
    sample_interval_s: float = 1.0,
) -> MeasuredRun:
    run = measure_run(
        program,
        condition=condition,
        repeat=repeat,
        hardware=hardware,
        sample_interval_s=sample_interval_s,
        log_dir=folder,
    )
    return check_run(run, program.command)


def _usage(
    workload: Workload,
    program: Program,
    functions: FunctionTrace,
    kernels: KernelTrace,
    files: FileTrace,
    trace_s: float,
) -> Usage:
    problems = [
        *functions.incomplete_because,
        *kernels.incomplete_because,
        *_without_record(functions, kernels),
        *files.incomplete_because,
    ]
    notes = []
    killed = {process.executable for process in functions.killed}
    as_untraced = {process.executable for process in files.processes if process.end == "killed"}
    if killed:
        notes.append(
            f"killed before their exit: {len(functions.killed)} processes of"
            f" {', '.join(sorted(killed))}; what they had used until then counts"
        )
    # In some runs only it is chance: a server's worker, or a notebook's kernel, that was too slow
    # to end by itself. The other runs have what it would have used then.
    problems += [
        f"a process of {executable} was killed while its functions were traced, and only then"
        for executable in sorted(functions.killed_in_each - as_untraced)
    ]
    listed = _listed(files)
    if len(listed) < len(files.files):
        notes.append(
            f"{len(files.files):,} files were used, and of those that are no code only"
            f" {len(listed):,} are listed in usage.json"
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
            if not Path(each.path).is_relative_to(BUILD)
        ],
        files=[UsedFile(each.path, each.real_path, sorted(each.uses)) for each in listed],
        files_left_out=len(files.files) - len(listed),
        gpus=kernels.gpus,
        modules=kernels.modules,
        kernels_traced=kernels.traced,
        kernels_not_traced_because=kernels.not_traced_because,
        trace_s=trace_s,
    )


def _listed(files: FileTrace) -> list[FileUse]:
    """Return the files to be listed: all where that is short, as of a data set it is not.

    Files of code are always among them.
    """
    left_characters, listed = _MOST_LISTED_CHARACTERS, []
    for file in files.files:
        left_characters -= len(ascii(file.path)) + len(ascii(file.real_path)) + _OF_AN_ENTRY
        if left_characters >= 0 or not _CODE.isdisjoint(file.uses):
            listed.append(file)
    return listed


def _digests_of(libraries: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each library that is still there and can be read.

    Raises UntrustedFileError above 64 GiB of all: a record may name a file without content, or one
    of the kernel's that has no end.
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
    """Return a problem where the program asked for a GPU and no process told of one."""
    if not kernels.traced or kernels.gpus:
        return []
    for library in functions.libraries:
        if Path(library.path).name.startswith("libcuda.so"):
            names = function_names(read_elf(Path(library.path)))
            if asks_for_gpu(names.of(address) for address in library.used_functions):
                return ["the program used a GPU, but no record of its GPU code was made"]
    return []
