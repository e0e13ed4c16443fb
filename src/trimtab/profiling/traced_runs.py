"""The traced runs of a program, each under another condition."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.config.groups.workload import Marks, Workload
from trimtab.errors import UserError
from trimtab.files import remove_tree
from trimtab.processes.program import Program
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.ending import otherwise_while_traced
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.compare_outputs import compare_outputs
from trimtab.profiling.runs.conditions import varied
from trimtab.profiling.runs.measured import MeasuredRun, failure_of
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.collector import eager_collection
from trimtab.profiling.tracing.functions import (
    FunctionTrace,
    read_function_trace,
    tracing_environment,
)
from trimtab.profiling.tracing.kernels import kernel_tracing_environment, trace_no_kernels

# A program made for many CPUs may take very long on one; it is then ended.
_MOST_TIMES, _MOST_S = 4.0, 120.0
_CACHES = "caches"


class TracedRunEndError(UserError):
    """A traced run ended otherwise than the program does, without a timeout."""


@dataclass(frozen=True)
class TracedRun:
    """A traced run under condition `number`, and the folders of its records.

    `problem` says why it did not end well, or is ""; `run` is None if it could not be measured. Its
    use counts however it ended.
    """

    number: int
    functions: Path
    kernels: Path | None
    run: MeasuredRun | None
    problem: str = ""

    @property
    def note(self) -> str:
        """The problem, with the condition."""
        return f"with {varied(self.number).name}: {self.problem}"


def trace_runs(
    workload: Workload,
    program: Program,
    hardware: HardwareModel,
    folder: Path,
    count: int,
    left_alone: Iterable[str] = (),
) -> list[TracedRun]:
    """Run `program` `count` times with its functions and, with a GPU, its kernels traced.

    The first run has the machine unchanged, the others varied conditions with separate caches in
    `folder`, until `differing_outputs` deletes them. Functions of the objects `left_alone` are not
    traced. Raises UserError if the first run fails; others may fail, as some programs need more
    than one CPU.
    """
    # Kernels are traced under lazy loading. A program that loads all GPU code at its start runs
    # other functions then, so one more run traces its kernels.
    eager = program.environment.get("CUDA_MODULE_LOADING") == "EAGER"
    numbers = [*range(count), *([0] if eager else [])]
    caches = folder / _CACHES
    limited = program
    traced: list[TracedRun] = []
    for repeat, number in enumerate(numbers):
        functions = folder / f"functions-{repeat}"
        kernels = functions / "kernels" if repeat == count or not eager else None
        watched = under(limited, number, caches)
        environment = tracing_environment(watched.environment, functions, left_alone)
        if kernels and program.root is not None:
            trace_no_kernels(kernels, "programs in a root are not traced for GPU code")
        elif kernels:
            interpreter = Path(workload.python or program.command[0])
            environment = kernel_tracing_environment(
                environment, kernels, interpreter, workload.own_profiler
            )
        watched = replace(watched, environment=environment)
        watched = watched.with_access_to(functions, *functions.glob("*"))
        if program.root is not None:
            open_to_all(functions)
        run, problem = _attempt(watched, "traced", number, repeat, hardware, folder)
        if problem and number == 0:
            ended = run is not None and not run.timed_out
            failure = otherwise_while_traced(problem)
            raise TracedRunEndError(failure) if ended else UserError(failure)
        traced.append(TracedRun(number, functions, kernels, run, problem))
        if run and number == 0:
            limit_s = max(_MOST_S, _MOST_TIMES * run.wall_s)
            limited = replace(program, timeout_s=min(program.timeout_s, limit_s))
            limited = limited.ending_as(run.exit_code)
    return traced


def open_to_all(record: Path) -> None:
    """Let processes of other users record too, such as a web server's workers.

    Inside the root everybody may reach the folder; outside only we may.
    """
    record.parent.chmod(0o700)
    record.chmod(0o1777)


def read_functions(traced: Sequence[TracedRun], root: RootFileSystem | None) -> FunctionTrace:
    """Return the functions that the runs used, and the problems of runs that ended well.

    Processes that a run ended itself, such as a server by its stop signal, do not count as
    `killed`.
    """
    by_us = frozenset[int]().union(*(each.run.ended_by_us for each in traced if each.run))
    trace = _without(by_us, read_function_trace(*(each.functions for each in traced), root=root))
    ended_well = [each.functions for each in traced if not each.problem]
    if len(ended_well) == len(traced):
        return trace
    whole = _without(by_us, read_function_trace(*ended_well, root=root))
    return replace(
        trace,
        incomplete_because=whole.incomplete_because,
        killed=whole.killed,
        killed_in_each=whole.killed_in_each,
    )


def _without(ended_by_us: frozenset[int], trace: FunctionTrace) -> FunctionTrace:
    """Return the trace without these processes in `killed`; they stay in `killed_in_each`."""
    return replace(trace, killed=[each for each in trace.killed if each.pid not in ended_by_us])


def differing_outputs(
    program: Program,
    traced: Sequence[TracedRun],
    reference: MeasuredRun,
    hardware: HardwareModel,
    folder: Path,
) -> list[str]:
    """Return how outputs of traced runs differ from untraced ones, a sentence a run.

    They are compared with `reference`. If one differs under another condition, an untraced run is
    made under that condition, with warm caches: the number of threads may change the last digits of
    a sum. Then the caches are deleted.
    """
    found = []
    for each in traced:
        if each.run is None or not (reference.output and each.run.output):
            continue
        difference = compare_outputs(reference.output, each.run.output, program.output)
        if difference and each.number:
            changed = under(program, each.number, folder / _CACHES)
            run, _ = _attempt(changed, "untraced", each.number, each.number, hardware, folder)
            if run and run.output:
                difference = compare_outputs(run.output, each.run.output, program.output)
        if difference:
            found.append(f"output of the traced run differs from an untraced one: {difference}")
    remove_tree(folder / _CACHES)
    return found


def under(program: Program, number: int, folder: Path) -> Program:
    """Return `program` under condition `number`, with caches in `folder`.

    With cold caches, Python's garbage collector also runs eagerly. With warm caches no marks are
    read: a program with marks writes to a pipe, unbuffered, otherwise to a file.
    """
    changed = varied(number, folder).apply(program)
    if number % 2 == 0:
        return replace(changed, marks=Marks())
    collector = folder / f"collector-{number}"
    environment = eager_collection(changed.environment, collector)
    return replace(changed, environment=environment).seeing(collector)


def _attempt(
    program: Program, way: str, number: int, repeat: int, hardware: HardwareModel, folder: Path
) -> tuple[MeasuredRun | None, str]:
    """Run `program`; return the run, and its problem or ""."""
    condition = f"{way}_varied" if number else "traced_functions"
    try:
        run = measure_run(
            program, condition=condition, repeat=repeat, hardware=hardware, log_dir=folder
        )
    except UserError as error:
        return None, str(error)
    return run, failure_of(run, program.command) or ""
