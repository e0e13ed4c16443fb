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
from trimtab.profiling.runs.compare import compare_outputs
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

# A program made for many CPUs may take very long on one: it is ended then.
_MOST_TIMES, _MOST_S = 4.0, 120.0
_CACHES = "caches"


class TracedRunEndError(UserError):
    """A traced run ended in another way than the program does, and in time."""


@dataclass(frozen=True)
class TracedRun:
    """A traced run under condition `number`, and the folders of its records.

    `problem` says why it did not end well, or is empty; `run` is None where it could not be
    measured. What a run used counts however it ended.
    """

    number: int
    functions: Path
    kernels: Path | None
    run: MeasuredRun | None
    problem: str = ""

    @property
    def note(self) -> str:
        """The problem, and under which condition."""
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

    The first run has the machine as it is, the others varied conditions with caches of their own in
    `folder`, until `differing_outputs` deletes them. Of the objects `left_alone` no function is
    traced. Raises UserError when the first run fails:
    others may, as not every program can do with one CPU.
    """
    # Kernels are traced under lazy loading, but a program that loads all GPU code at its start runs
    # other functions for it: one more run tells the kernels then.
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
            _open_to_all(functions)
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


def _open_to_all(record: Path) -> None:
    """Let processes that go on as another user record too, as a web server's workers do.

    In the root the way there is anybody's; outside it is ours alone.
    """
    record.parent.chmod(0o700)
    record.chmod(0o1777)


def read_functions(traced: Sequence[TracedRun], root: RootFileSystem | None) -> FunctionTrace:
    """Return what functions the runs used, and what is missing of those that ended well.

    What a run ended itself, as a server by its stop signal, is none that was `killed`.
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
    """Return the trace, of whose `killed` none is among these; they stay in `killed_in_each`."""
    return replace(trace, killed=[each for each in trace.killed if each.pid not in ended_by_us])


def differing_outputs(
    program: Program,
    traced: Sequence[TracedRun],
    reference: MeasuredRun,
    hardware: HardwareModel,
    folder: Path,
) -> list[str]:
    """Return where outputs of traced runs differ from untraced ones, a sentence a run.

    They are compared with `reference`. Where one differs under another condition, a run under that
    condition is made, with the caches warm: the number of threads may change the last digits of a
    sum. The caches are deleted then.
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

    Where caches are cold, Python's garbage collector is eager too. Where they are not, no marks are
    read: a program with marks writes to a pipe, unbuffered, and to a file otherwise.
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
    """Run `program`; return the run, and what went wrong."""
    condition = f"{way}_varied" if number else "traced_functions"
    try:
        run = measure_run(
            program, condition=condition, repeat=repeat, hardware=hardware, log_dir=folder
        )
    except UserError as error:
        return None, str(error)
    return run, failure_of(run, program.command) or ""
