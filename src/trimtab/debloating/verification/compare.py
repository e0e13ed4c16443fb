"""Compare the runs in a slim environment with the original's."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.processes.program import Program
from trimtab.profiling.runs.comparable import check_steady
from trimtab.profiling.runs.compare_outputs import compare_outputs
from trimtab.profiling.runs.measured import MeasuredRun

ORIGINAL, DEBLOATED = "original", "debloated"


def equal_runs(program: Program, runs: Sequence[MeasuredRun]) -> int:
    """Return how many outputs of the slim environment equal the original's first output."""
    reference = _outputs(runs, ORIGINAL)[:1]
    return sum(
        compare_outputs(reference[0], output, program.output) is None
        for output in _outputs(runs, DEBLOATED)
        if reference
    )


def problem_of(
    workload: Workload, program: Program, runs: Sequence[MeasuredRun], elsewhere: str | None
) -> str | None:
    """Return the difference from the original environment in words, or None.

    `elsewhere` says what a run used instead of the slim environment, or is None. Raises UserError
    if the original fails, or if its output varies.
    """
    for run in runs:
        if run.failure and run.condition == ORIGINAL:
            raise UserError(f"workload {workload.name}: {run.failure}")
    first, *others = [run for run in runs if run.condition == ORIGINAL]
    for run in others:
        check_steady(program, first, run)
    problems = [elsewhere] if elsewhere else []
    problems += _other_ends(runs)
    for output in _outputs(runs, DEBLOATED):
        difference = first.output and compare_outputs(first.output, output, program.output)
        if difference:
            problems.append(f"another output, {difference}")
            break
    return "; ".join(problems) or None


def _other_ends(runs: Sequence[MeasuredRun]) -> Iterator[str]:
    """Yield differences in how the program ended, or in the processes that it left behind."""
    left_behind = {run.left_behind for run in runs if run.condition == ORIGINAL}
    for run in runs:
        if run.condition != DEBLOATED:
            continue
        if run.failure:
            yield run.failure
        elif not min(left_behind) <= run.left_behind <= max(left_behind):
            yield (
                f"the debloated run {run.repeat} left {run.left_behind} processes behind, the"
                f" original {min(left_behind)}; see {run.stderr}"
            )


def _outputs(runs: Sequence[MeasuredRun], condition: str) -> list[Path]:
    return [run.output for run in runs if run.condition == condition and run.output]
