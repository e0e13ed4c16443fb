"""Runs in a slim environment that restores missing pieces, and their misses."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Behaviour, fallback_environment
from trimtab.debloating.misses import named
from trimtab.debloating.risk import RunHistory
from trimtab.debloating.targets.base import Target
from trimtab.errors import TrimtabError, UserError
from trimtab.files import remove_tree
from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.conditions import varied
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.traced_runs import under
from trimtab.records.misses.removed_calls import RemovedCall, read_removed_calls
from trimtab.records.misses.removed_files import read_missed_files
from trimtab.untrusted import remove_existing


def restoring(program: Program, record: Path, behaviour: Behaviour = Behaviour.RESTORE) -> Program:
    """Return `program` in a slim environment that restores misses and writes them to `record`.

    Another `behaviour` replaces the restoring.

    `record` has a folder of its own, as a program of another user may write there.
    """
    record.parent.mkdir(parents=True, exist_ok=True)
    program = program.with_access_to(record.parent)
    environment = fallback_environment(program.environment, behaviour, record)
    return replace(program, environment=environment)


class SlimRunEndError(TrimtabError):
    """A slim run ended otherwise than the original, without a timeout."""


class SlimRuns:
    """Runs of workloads in a target's slim environment, each turn under another condition.

    They are added to `history`; `missed_files` are the removed files that runs asked for. Logs,
    records and caches are in `folder` until `remove`.
    """

    def __init__(self, target: Target, slim: Path, folder: Path, history: RunHistory) -> None:
        self.target, self.slim, self.folder, self.history = target, slim, folder, history
        self.remove()  # of an earlier run
        # First the machine unchanged.
        self._conditions: Iterator[int] = chain((0,), count(1 + len(history.runs)))
        self.missed_files: set[str] = set()
        self._good_ends: set[tuple[str, int]] = set()

    def remove(self) -> None:
        """Remove the files of the runs."""
        remove_tree(self.folder)

    def turn(self, workloads: Sequence[Workload]) -> set[int]:
        """Run each of `workloads` once and return the numbers of the missed pieces.

        Raises TrimtabError if one ends otherwise than in the original environment, and UserError if
        it fails there too on the unchanged machine.
        """
        number = next(self._conditions)
        asked: set[int] = set()
        for workload in workloads:
            calls = self._run(workload, number)
            name = varied(number, self.folder / "caches").name
            asked |= self.history.add(workload.name, name, calls)
        return asked

    def ends_well(self, workloads: Sequence[Workload]) -> bool:
        """Return whether each of `workloads` ends as in the original, on the unchanged machine."""
        try:
            for workload in workloads:
                self._run(workload, 0)
        except TrimtabError:
            return False
        return True

    def _run(self, workload: Workload, number: int) -> list[RemovedCall]:
        folder, caches = self.folder / workload.name, self.folder / "caches"
        record = folder / "records/removed_calls.jsonl"
        remove_existing(record)
        program = self.target.program(workload, folder / "output", self.slim)
        run = self._measured(under(restoring(program, record), number, caches), "slim", folder)
        if run.failure or (run.exit_code and (workload.name, run.exit_code) not in self._good_ends):
            original = self.target.program(workload, folder / "original")
            same = self._measured(under(original, number, caches), "original", folder)
            if (run.exit_code, run.timed_out) != (same.exit_code, same.timed_out):
                kind = TrimtabError if run.timed_out else SlimRunEndError
                raise kind(
                    f"in {self.slim}, with removed code put back ({varied(number).name}):"
                    f" {run.failure or f'exit code {run.exit_code}, not {same.exit_code}'}"
                )
            if number == 0 and same.failure:
                raise UserError(f"workload {workload.name}: {same.failure}")
            self._good_ends.add((workload.name, run.exit_code))
        self.missed_files |= {file.path for file in read_missed_files(record)}
        return named(read_removed_calls(record), self.target.root)

    def _measured(self, program: Program, condition: str, folder: Path) -> MeasuredRun:
        return measure_run(
            program,
            condition=condition,
            repeat=len(self.history.runs),
            hardware=NO_POWER_MODEL,
            log_dir=folder / "logs",
        )
