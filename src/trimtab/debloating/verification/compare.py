"""Whether the runs in a slim environment did what those in the original did."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.runs.compare import compare_outputs
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.program import Program
from trimtab.records.removed_calls import RemovedCall


def equal_runs(program: Program, runs: Sequence[MeasuredRun]) -> int:
    """Return how many outputs of the slim environment equal the original's first."""
    reference = _outputs(runs, "original")[:1]
    return sum(
        compare_outputs(reference[0], output, program.output) is None
        for output in _outputs(runs, "debloated")
        if reference
    )


def problem_of(
    workload: Workload,
    program: Program,
    runs: Sequence[MeasuredRun],
    calls: Sequence[RemovedCall],
) -> str | None:
    """Return in words what was other than before, or None; `calls` are into removed code.

    Raises UserError where the original fails, or writes something else from run to run.
    """
    for run in runs:
        if run.failure and run.condition == "original":
            raise UserError(f"workload {workload.name}: {run.failure}")
    reference, *others = _outputs(runs, "original")
    for output in others:
        difference = compare_outputs(reference, output, program.output)
        if difference:
            raise UserError(
                f"workload {workload.name}: its output differs from run to run in the original"
                f" environment, {difference}; fix its seed, or compare with"
                " output.compare: numeric_file and a tolerance"
            )
    problems = [run.failure for run in runs if run.failure]
    for output in _outputs(runs, "debloated"):
        difference = compare_outputs(reference, output, program.output)
        if difference:
            problems.append(f"another output, {difference}")
            break
    if calls:
        problems.append(_called(calls))
    return "; ".join(problems) or None


def _called(calls: Sequence[RemovedCall]) -> str:
    first, others = calls[0], len(calls) - 1
    function = first.name or f"the function at {first.address:#x}"
    more = f", then {others} more functions" if others else ""
    return (
        f"removed code was called: {function} in {first.library}{more}; profile more runs or a"
        " workload that does this too, or let `trimtab learn` add it"
    )


def _outputs(runs: Sequence[MeasuredRun], condition: str) -> list[Path]:
    return [run.output for run in runs if run.condition == condition and run.output]
