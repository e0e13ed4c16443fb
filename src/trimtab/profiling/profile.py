"""The stage `profile`: find a workload's use in traced runs, and its costs in plain ones."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Profiling
from trimtab.errors import UserError
from trimtab.files import remove_tree
from trimtab.places import NATIVE
from trimtab.processes.program import Program
from trimtab.profiling.ending import check_first_run, check_traced_run
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel
from trimtab.profiling.runs.comparable import check_steady
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.measured import MeasuredRun, epochs_table, runs_table
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.runs_beside import RunsBeside
from trimtab.profiling.self_checking import find_self_checking
from trimtab.profiling.traced_runs import (
    TracedRun,
    TracedRunEndError,
    differing_outputs,
    read_functions,
    trace_runs,
)
from trimtab.profiling.tracing.c_library import untraced_functions, why_functions_stay_unknown
from trimtab.profiling.tracing.files import FileTrace, read_file_trace, tracing_command
from trimtab.profiling.tracing.kernels import KernelTrace, read_kernel_trace
from trimtab.profiling.usage import usage_of
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import EPOCHS, RUNS
from trimtab.records.usage import Usage

_FILES = "files.jsonl"


def profile_workload(
    workload: Workload,
    hardware: Hardware,
    profiling: Profiling,
    destination: Path,
    left_alone: Iterable[str] = (),
) -> None:
    """Run `workload` plain and traced; write usage.json, runs.parquet and epochs.parquet.

    Logs and records of the runs stay in `destination`/runs. Raises UserError if a run fails.
    """
    folder = destination / "runs"
    remove_tree(folder)
    model = model_of(hardware)
    program = program_of(workload, folder / "output")
    runs: list[MeasuredRun] = []
    for repeat in range(profiling.repeats):
        run = _run(program, "original", repeat, model, folder, profiling.sample_interval_s)
        runs.append(check_first_run(run, program.command, of_yaml=True))
        program = program.ending_as(runs[0].exit_code)
        check_steady(program, runs[0], runs[-1])
    usage, traced = trace_program(
        workload, program, model, folder, profiling.traced_runs, plain=runs[0],
        left_alone=left_alone,
    )  # fmt: skip
    runs += traced
    write_table(destination / "runs.parquet", RUNS, runs_table(workload.name, runs))
    write_table(destination / "epochs.parquet", EPOCHS, epochs_table(workload.name, runs))
    usage.write(destination / "usage.json")


def trace_workload(
    workload: Workload, folder: Path, traced_runs: int = 1, left_alone: Iterable[str] = ()
) -> Usage:
    """Run `workload` with its code traced and once with its files followed; return its use.

    `traced_runs` runs are traced for functions and, with a GPU, kernels; the use of all is united.
    Functions of the objects `left_alone` are not traced.

    Logs and records stay in `folder`. Raises UserError if a run fails.
    """
    remove_tree(folder)
    program = program_of(workload, folder / "output")
    return trace_program(
        workload, program, NO_POWER_MODEL, folder, traced_runs, left_alone=left_alone
    )[0]


def model_of(hardware: Hardware) -> HardwareModel:
    """Return the power model in a hardware YAML."""
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
    """Run `program`, its code unchanged, with its files followed; the record stays in `folder`.

    Raises UserError if the run fails, with the files that the tracer could not follow.
    """
    followed = with_files_followed(program, folder / _FILES)
    with _telling_what_was_not_followed(folder):
        run = _run(followed, "traced_files", 0, hardware, folder)
        return check_traced_run(run, program.command)


def _self_checking(
    workload: Workload,
    program: Program,
    hardware: HardwareModel,
    folder: Path,
    files: FileTrace,
    left_alone: Collection[str],
) -> list[str]:
    """Return the libraries that must not be traced for the program to end well, or none."""
    mapped = {use.real_path for use in files.files if "map_execute" in use.uses}
    candidates = sorted(
        path
        for path in mapped
        if path and path not in left_alone and not Path(path).is_relative_to(NATIVE)
    )

    def ends_well(alone: Sequence[str]) -> bool:
        try:
            trace_runs(workload, program, hardware, folder, 1, {*left_alone, *alone})
        except UserError:
            return False
        return True

    return find_self_checking(candidates, ends_well)


@contextmanager
def _telling_what_was_not_followed(folder: Path) -> Iterator[None]:
    """Add to a UserError what the file tracer could not follow: a possible reason for it."""
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
    if program.user is not None or program.root is not None:  # the tracer may not create it
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
    left_alone: Iterable[str] = (),
) -> tuple[Usage, list[MeasuredRun]]:
    """Return the use of `program` in `traced_runs` traced runs and one run that follows its files.

    `plain` is an untraced run, and `followed` a run by `follow_files` into `folder`, if they exist
    already. Functions of the objects `left_alone` are not traced. Also returns the runs. Raises
    UserError if a run fails.
    """
    # This run goes first: it reports at once a program that cannot be traced.
    files_run = followed or follow_files(program, hardware, folder)
    program = program.ending_as(files_run.exit_code)
    files = read_file_trace(folder / _FILES)
    why_not = ""
    if program.root is not None:
        why_not = why_functions_stay_unknown(files, program.root, program.environment)
    traced: list[TracedRun] = []
    checking: list[str] = []
    alone = set(left_alone)
    if program.root is not None and why_not:
        functions = untraced_functions(files, program.root, why_not)
        kernels = KernelTrace([], [], False, why_not, [])
    else:
        with _telling_what_was_not_followed(folder):
            try:
                traced = trace_runs(workload, program, hardware, folder, traced_runs, alone)
            except TracedRunEndError:
                checking = _self_checking(workload, program, hardware, folder, files, alone)
                if not checking:
                    raise
                alone.update(checking)
                traced = trace_runs(workload, program, hardware, folder, traced_runs, alone)
        functions = read_functions(traced, program.root)
        kernels = read_kernel_trace(*(each.kernels for each in traced if each.kernels))
    beside = RunsBeside(program, folder.resolve() / "beside", None if why_not else alone)
    if program.root is not None:
        beside.fail(files)
        beside.check(workload)
        files, functions = beside.with_their_use(files, functions)
    runs = [each.run for each in traced if each.run and not each.problem]
    trace_s = sum(run.wall_s for run in runs)
    usage = usage_of(workload, program, functions, kernels, files, trace_s)
    problems = [
        *usage.incomplete_because,
        *differing_outputs(program, traced, plain or files_run, hardware, folder),
    ]
    notes = [*usage.notes, *beside.notes, *(each.note for each in traced if each.problem)]
    notes += [
        f"{library}: it is left as it is, as --keep-library (keep_libraries) would have it: the"
        " program failed while its functions were traced, and with this library left alone it did"
        " not, so that it checks its own code"
        for library in checking
    ]
    if why_not:
        notes.append(f"libraries stay as they are, as no function can be traced: {why_not}")
    changes = {"complete": not problems, "incomplete_because": problems, "notes": notes}
    return usage.model_copy(update=changes), [*runs, files_run]


def _run(
    program: Program,
    condition: str,
    repeat: int,
    hardware: HardwareModel,
    folder: Path,
    sample_interval_s: float = 1.0,
) -> MeasuredRun:
    return measure_run(
        program,
        condition=condition,
        repeat=repeat,
        hardware=hardware,
        sample_interval_s=sample_interval_s,
        log_dir=folder,
    )
