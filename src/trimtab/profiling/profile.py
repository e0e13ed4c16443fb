"""The stage `profile`: what a workload uses, in traced runs, and what it costs, in plain ones."""

import shutil
from dataclasses import replace
from pathlib import Path

from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Profiling
from trimtab.errors import UserError
from trimtab.native import BUILD
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel
from trimtab.profiling.runs.compare import compare_outputs
from trimtab.profiling.runs.conditions import varied
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.measured import MeasuredRun, epochs_table, runs_table
from trimtab.profiling.runs.program import Program
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.files import FileTrace, read_file_trace, tracing_command
from trimtab.profiling.tracing.functions import (
    FunctionTrace,
    read_function_trace,
    tracing_environment,
)
from trimtab.profiling.tracing.kernels import (
    KernelTrace,
    kernel_tracing_environment,
    read_kernel_trace,
)
from trimtab.records.tables import EPOCHS, RUNS, write_table
from trimtab.records.usage import Usage, UsedFile, UsedLibrary, UsedProcess

_LAST_LINES = 20


def profile_workload(
    workload: Workload, hardware: Hardware, profiling: Profiling, destination: Path
) -> None:
    """Run `workload` plain and traced; write usage.json, runs.parquet and epochs.parquet.

    Logs and records of the runs stay in `destination`/runs. Raises UserError when a run fails.
    """
    folder = destination / "runs"
    shutil.rmtree(folder, ignore_errors=True)
    model = model_of(hardware)
    program = program_of(workload, folder / "output")
    runs = [
        _run(program, "original", repeat, model, folder, profiling.sample_interval_s)
        for repeat in range(profiling.repeats)
    ]
    usage, traced = _trace(workload, program, model, folder, profiling.traced_runs, plain=runs[0])
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
    shutil.rmtree(folder, ignore_errors=True)
    program = program_of(workload, folder / "output")
    return _trace(workload, program, NO_POWER_MODEL, folder, traced_runs, plain=None)[0]


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


def _trace(
    workload: Workload,
    program: Program,
    hardware: HardwareModel,
    folder: Path,
    traced_runs: int,
    plain: MeasuredRun | None,
) -> tuple[Usage, list[MeasuredRun]]:
    files_record = folder / "files.jsonl"
    # Kernels are traced under lazy loading, but a program that loads all GPU code at its start runs
    # other functions for it: one more run tells the kernels then.
    eager = program.environment.get("CUDA_MODULE_LOADING") == "EAGER"
    records = [folder / f"functions-{repeat}" for repeat in range(traced_runs + eager)]
    kernels_from = traced_runs if eager else 0
    runs = []
    for repeat, record in enumerate(records):
        varying = varied(repeat, folder / "caches").apply(program)
        traced = tracing_environment(varying.environment, record)
        if repeat >= kernels_from:
            traced = kernel_tracing_environment(
                traced,
                record / "kernels",
                Path(workload.python or program.command[0]),
                workload.own_profiler,
            )
        watched = replace(varying, environment=traced)
        runs.append(_run(watched, "traced_functions", repeat, hardware, folder))
    followed = replace(program, command=tracing_command(program.command, files_record))
    runs.append(_run(followed, "traced_files", 0, hardware, folder))
    trace_s = sum(run.wall_s for run in runs[:-1])
    functions = read_function_trace(*records)
    kernels = read_kernel_trace(*(record / "kernels" for record in records[kernels_from:]))
    files = read_file_trace(files_record)
    usage = _usage(workload, program, functions, kernels, files, trace_s)
    reference = plain or runs[-1]
    problems = list(usage.incomplete_because)
    for run in runs[:-1]:
        if not (reference.output and run.output):
            continue
        difference = compare_outputs(reference.output, run.output, program.output)
        if difference:
            problems.append(f"output of the traced run differs from an untraced one: {difference}")
    whole = {"complete": not problems, "incomplete_because": problems}
    return usage.model_copy(update=whole), runs


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
    if run.failure is not None:
        lines = run.stderr.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        raise UserError("\n".join([f"{' '.join(program.command)}: {run.failure}", *lines]))
    return run


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
    notes: list[str] = []
    for process in functions.killed:
        text = f"process {process.pid} ({process.executable}) was killed before its exit"
        (notes if workload.accept_killed_processes else problems).append(text)
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
                traced=each.traced,
                not_traced_because=each.not_traced_because,
                functions_total=each.functions_total,
                functions_used=len(each.used_functions),
                used_functions=each.used_functions.tolist(),
            )
            for each in functions.libraries
            if not Path(each.path).is_relative_to(BUILD)
        ],
        files=[UsedFile(each.path, each.real_path, sorted(each.uses)) for each in files.files],
        gpus=kernels.gpus,
        modules=kernels.modules,
        kernels_traced=kernels.traced,
        kernels_not_traced_because=kernels.not_traced_because,
        trace_s=trace_s,
    )


def _without_record(functions: FunctionTrace, kernels: KernelTrace) -> list[str]:
    """Return a problem where the program started CUDA and no process told of a GPU."""
    if not kernels.traced or kernels.gpus:
        return []
    for library in functions.libraries:
        if Path(library.path).name.startswith("libcuda.so"):
            names = function_names(read_elf(Path(library.path)))
            if any(names.of(address) == "cuInit" for address in library.used_functions):
                return ["the program used CUDA, but no record of its GPU code was made"]
    return []
