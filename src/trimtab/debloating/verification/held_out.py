"""The hold-out check: run unprofiled inputs in both environments, and report their misses."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import (
    ENDED_AT_A_MISS,
    FALLBACK_LIBRARY,
    FILE_FALLBACK_LIBRARY,
    Behaviour,
)
from trimtab.debloating.misses import named
from trimtab.debloating.slim_runs import restoring
from trimtab.debloating.targets.base import Target
from trimtab.debloating.verification.delivered_state import as_delivered
from trimtab.debloating.verification.places import as_in_original
from trimtab.errors import UserError
from trimtab.processes.program import Program, ended
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.comparable import changing_lines, check_steady
from trimtab.profiling.runs.compare_outputs import compare_outputs
from trimtab.profiling.runs.from_workload import command_line
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run
from trimtab.records.misses.held_out import HeldOutInput, HeldOutRun
from trimtab.records.misses.record_lines import CallCount, FileCount, lines_of_record
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.misses.removed_files import read_missed_files
from trimtab.untrusted import remove_existing

_BEHAVIOURS = (Behaviour.STRICT, Behaviour.REPORT, Behaviour.RESTORE)
# A program may wait forever for workers that are ended one after the other.
_MOST_TIMES, _LEAST_S = 10.0, 60.0
# A shell returns 126 and 127 for commands that do not start, and higher codes after a signal.
_LARGEST_OWN_EXIT_CODE = 125


@dataclass(frozen=True)
class _Original:
    """An input's `program` in the original environment, and the reference `run`."""

    program: Program
    run: MeasuredRun
    run_again: Callable[[], MeasuredRun]

    def equals(self, run: MeasuredRun) -> bool:
        """Whether another run's output equals the reference, apart from lines that vary for this
        input.
        """
        return self._equals(run, self.program.output) or self._equals(run, self._own_comparison)

    def check_end(self) -> None:
        """Raise UserError if a second run ends otherwise than the first."""
        if self._again.exit_code != self.run.exit_code:
            raise UserError(
                "it does not end the same way from run to run in the original environment: it"
                f" {ended(self.run.exit_code)}, then it {ended(self._again.exit_code)}; see"
                f" {self._again.stderr}"
            )

    @cached_property
    def _again(self) -> MeasuredRun:
        return self.run_again()

    def _equals(self, run: MeasuredRun, comparison: Output) -> bool:
        assert self.run.output and run.output  # both ended well
        return compare_outputs(self.run.output, run.output, comparison) is None

    @cached_property
    def _own_comparison(self) -> Output:
        """The workload's comparison; if it ignores varying lines, also this input's varying lines.

        The workload's varying lines were found with another input. Raises UserError if two runs of
        the original differ otherwise, or end otherwise.
        """
        self.check_end()
        again, comparison = self._again, self.program.output
        if comparison.compare == OutputComparison.LINES and self.run.output and again.output:
            own = changing_lines(self.run.output, again.output)
            return replace(comparison, changing=[*comparison.changing, *own])
        check_steady(self.program, self.run, again)
        return comparison


class HeldOutRuns:
    """Runs of the workloads' held-out inputs, in the original and in the `slim` environment.

    Each input runs once in the original, and again if another output or end raises doubts. In the
    slim environment it runs once under each behaviour of the fallback, from the delivered state.
    Logs are in `folder`.
    """

    def __init__(self, target: Target, slim: Path, folder: Path, hardware: HardwareModel) -> None:
        self.target, self.slim, self.folder, self.hardware = target, slim, folder, hardware

    def of(self, workload: Workload, exit_code: int) -> Iterator[HeldOutInput]:
        """Yield the result of each input of a workload, whose own input ends with `exit_code`.

        An input may end with another exit code in the original; the slim environment then has to
        match. An input cannot be judged if it fails in the original, ends there with a signal or a
        shell's code, or ends otherwise in a second run: its `problem` says why. Raises UserError,
        which names the input, for an invalid one.
        """
        for name in workload.held_out:
            try:
                held = workload.holding_out(name)
            except UserError as error:
                raise UserError(f"workload {workload.name}: held_out.{name}: {error}") from None
            yield self._input(held, name, exit_code)

    def _input(self, workload: Workload, name: str, exit_code: int) -> HeldOutInput:
        folder, end, problem = self.folder / workload.name / name, exit_code, ""
        runs: list[HeldOutRun] = []
        try:
            original = self._original(workload, folder, exit_code)
            end = original.run.exit_code
            for run in self._slim_runs(workload, original, folder):
                runs.append(run)
                if not run.is_right:
                    original.check_end()
        except UserError as error:
            problem = str(error)
        words = command_line(workload)
        return HeldOutInput(workload.name, name, words, runs, end, exit_code, problem)

    def _original(self, workload: Workload, folder: Path, exit_code: int) -> _Original:
        """Run an input in the original environment. Raises UserError if it fails there."""
        program = replace(self.target.program(workload, folder / "original"), ends_with=None)

        def run_original(repeat: int) -> MeasuredRun:
            run = self._measured(program, "original", folder, repeat)
            if run.failure:
                raise UserError(run.failure)
            return run

        original = _Original(program, run_original(0), partial(run_original, 1))
        _check_end(original.run, exit_code)
        return original

    def _slim_runs(
        self, workload: Workload, original: _Original, folder: Path
    ) -> Iterator[HeldOutRun]:
        """Yield a run in the slim environment under each behaviour."""
        timeout_s = original.program.timeout_s
        limit_s = min(timeout_s, max(_LEAST_S, _MOST_TIMES * original.run.wall_s))
        ends_with = frozenset({original.run.exit_code})
        for behaviour in _BEHAVIOURS if self._has_fallback else (None,):
            try:
                slim = self.target.program(workload, folder / "slim", self.slim)
            except UserError as error:  # for example, the program itself was removed
                yield HeldOutRun(behaviour or "none", 0, ended=f"cannot be started: {error}")
                continue
            slim = replace(slim, timeout_s=limit_s, ends_with=ends_with)
            with as_delivered(self.slim):
                run = self._slim_run(slim, behaviour, original, folder)
            yield run

    @property
    def _has_fallback(self) -> bool:
        libraries = (FALLBACK_LIBRARY, FILE_FALLBACK_LIBRARY)
        return any((self.slim / library).is_file() for library in libraries)

    def _slim_run(
        self, program: Program, behaviour: Behaviour | None, original: _Original, folder: Path
    ) -> HeldOutRun:
        record = folder.absolute() / "records" / f"{behaviour or 'none'}.jsonl"
        remove_existing(record)
        if behaviour is not None:
            program = restoring(program, record, behaviour)
        problem, run = "", None
        try:
            run = self._measured(program, behaviour or "none", folder)
            run = as_in_original(run, program, self.slim, self.target.root)
        except UserError as error:  # not started, or no output written
            problem = str(error)
        calls = named(read_removed_calls(record), self.target.root)
        files = read_missed_files(record)
        equal = None
        if run and not run.failure and run.output and original.run.output:
            equal = original.equals(run)
        counted = sum(
            line.functions if isinstance(line, CallCount) else line.files
            for line in lines_of_record(record)
            if isinstance(line, CallCount | FileCount)
        )
        return HeldOutRun(
            behaviour="none" if behaviour is None else behaviour.value,
            missed=counted if behaviour is Behaviour.REPORT else len(calls) + len(files),
            calls=calls,
            files=files,
            ended="" if equal is not None else problem or _end_of(run),
            equal=equal,
        )

    def _measured(
        self, program: Program, condition: str, folder: Path, repeat: int = 0
    ) -> MeasuredRun:
        return measure_run(
            program,
            condition=condition,
            repeat=repeat,
            hardware=self.hardware,
            log_dir=folder / "logs",
        )


def _check_end(run: MeasuredRun, exit_code: int) -> None:
    """Raise UserError unless a run ended with `exit_code`, or with a program's own exit code."""
    own = 0 <= run.exit_code <= _LARGEST_OWN_EXIT_CODE and run.exit_code != ENDED_AT_A_MISS
    if run.exit_code != exit_code and not own:
        raise UserError(
            f"the original run 0 {ended(run.exit_code)}, where the workload {ended(exit_code)}; an"
            f" input may have an exit code of its own from 0 to {_LARGEST_OWN_EXIT_CODE}, but not"
            f" {ENDED_AT_A_MISS}, with which a miss ends a program;"
            f" see {run.stderr}"
        )


def _end_of(run: MeasuredRun | None) -> str:
    assert run is not None  # otherwise there is a problem
    return "took too long" if run.timed_out else ended(run.exit_code)


def problem_of_held_out(held: HeldOutInput) -> str | None:
    """Return in words how an input broke the promise of a behaviour, or None.

    Inputs that cannot be judged have no such problem.
    """
    for run in held.runs:
        if not run.is_right and not held.problem:
            what = run.ended or "another output"
            return f"held-out input {held.name}, behaviour {run.behaviour}: {what}"
    return None
