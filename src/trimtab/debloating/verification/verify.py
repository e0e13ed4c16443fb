"""Verify the slim environment: it has to do the same as the original; measure its costs.

It runs as delivered: missing pieces are restored. A run without a miss would do the same with
TRIMTAB_FALLBACK=strict, so no run is made for that.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import FALLBACK_LIBRARY
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.misses import named
from trimtab.debloating.original_identity import check_original
from trimtab.debloating.removal import removed_paths, replaced_paths
from trimtab.debloating.risk import RunHistory
from trimtab.debloating.slim_runs import restoring
from trimtab.debloating.targets.base import Target
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.compare import DEBLOATED, ORIGINAL, equal_runs, problem_of
from trimtab.debloating.verification.crash import find_crash
from trimtab.debloating.verification.environment_digests import check_intact
from trimtab.debloating.verification.held_out import HeldOutRuns, problem_of_held_out
from trimtab.debloating.verification.library_origins import LibraryFiles, and_more
from trimtab.debloating.verification.missed_files import missed_files
from trimtab.debloating.verification.places import as_in_original
from trimtab.debloating.verification.process_comparison import FollowedRun, follow, problem_beside
from trimtab.debloating.verification.run_observations import Observed
from trimtab.debloating.verification.shared_files import check_linked
from trimtab.errors import TrimtabError, UserError
from trimtab.files import remove_tree
from trimtab.processes.program import Program, ended
from trimtab.profiling.cpu_contention import Glimpse
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.from_workload import absolute
from trimtab.profiling.runs.interleave import measure_interleaved
from trimtab.profiling.runs.measured import MeasuredRun, runs_table
from trimtab.records.manifest import Manifest
from trimtab.records.misses.held_out import HeldOutInput
from trimtab.records.misses.removed_calls import RemovedCall, united
from trimtab.records.misses.settling import Settling
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import RUNS
from trimtab.records.verdict import Crash, ResidentBytes, Verdict, VerifiedWorkload


class VerificationError(TrimtabError):
    """A workload does something else in the slim environment than in the original."""


class NotJudgedError(UserError):
    """Held-out inputs fail in the original environment, or their results vary there."""


@dataclass(frozen=True)
class _Verification:
    """A target, its slim environment, and the folder for the verdict and its evidence."""

    target: Target
    slim: Path
    destination: Path
    libraries: LibraryFiles
    removed: set[str]

    @cached_property
    def tree(self) -> FileTree:
        """The original's tree, as programs of the slim environment see it."""
        return self.target.tree(self.slim)

    def missed(self, run: FollowedRun) -> list[str]:
        """Return the removed files that a run looked for."""
        return missed_files(run.trace, self.tree, self.removed) if self.removed else []

    @property
    def runs(self) -> Path:
        return self.destination / "verification"

    @property
    def evidence(self) -> Path:
        return self.destination / "failure"


def verify_environment(
    name: str,
    workloads: Sequence[Workload],
    hardware: HardwareModel,
    environment: Path,
    manifest: Path,
    repeats: int,
    destination: Path,
) -> None:
    """Run every workload of the target `name` in both environments in turn.

    Writes verify.json and verify_runs.parquet. All outputs in the slim `environment` have to equal
    the first output in the original. Its runs have to end as the original's, and have to use its
    own libraries. Misses are restored and reported; with the settling.json beside `manifest` they
    give the remaining risk. Then held-out inputs run under each behaviour of the fallback; all are
    reported, and their misses have to be restored. Inputs that fail or vary in the original cannot
    be judged: NotJudgedError names them after verify.json is written, and their logs stay in
    `destination`/verification.

    A difference raises VerificationError: `destination`/failure keeps the runs' output and logs,
    and verify.json there says what differed or where the program crashed. Raises UserError if a
    workload's output varies in the original environment, or if a shared file or a library was
    changed.
    """
    check_original(manifest.with_name("environment.json"))
    target, slim = target_of(name, workloads), absolute(environment)
    check_linked(manifest.with_name("environment.json"), target.root, slim)
    check_intact(manifest.parent, target.root, slim)
    known = Manifest.read(manifest)
    libraries = LibraryFiles.of(known.files, target.root, slim, FALLBACK_LIBRARY)
    removed = set()
    if known.removed_files is not None:
        removed = removed_paths(manifest.parent) - replaced_paths(manifest.parent)
    verification = _Verification(target, slim, destination, libraries, removed)
    history = RunHistory(_settling_beside(manifest))
    destination.mkdir(parents=True, exist_ok=True)
    (destination / "verify.json").unlink(missing_ok=True)
    for outdated in (verification.runs, verification.evidence):
        remove_tree(outdated)
    verified: list[VerifiedWorkload] = []
    calls: list[RemovedCall] = []
    missed: set[str] = set()
    resident: dict[str, ResidentBytes] = {}
    held_out: list[HeldOutInput] = []
    exit_codes: list[int] = []
    tables = []
    begin = Glimpse.now()

    def verdict(**failed: Any) -> Verdict:
        return Verdict(
            target=name,
            hardware=hardware.name,
            passed=not failed,
            workloads=verified,
            removed_calls=named(united(calls), target.root),
            missed_files=sorted(missed),
            resident_bytes=resident,
            held_out=held_out,
            machine=begin.load_until(Glimpse.now()),
            **failed,
        )

    for workload in workloads:
        ran = _Ran.of(verification, workload, hardware, repeats)
        calls += [call for each in ran.observed.calls for call in each]
        missed.update(ran.missed_files, *ran.observed.files)
        verified.append(_verified(workload, repeats, ran, history))
        if ran.resident:
            resident[workload.name] = ran.resident
        if ran.problem:
            crash, problem = _examine(verification, workload, ran)
            failed = {"failed_workload": workload.name, "problem": problem, "crash": crash}
            verdict(**failed).write(verification.evidence / "verify.json")
            where = f"; {crash}" if crash else ""
            if ran.missed_files:
                first, *others = ran.missed_files
                where += (
                    f"; it looked for {first}, which was removed{and_more(len(others), 'paths')}"
                )
            raise VerificationError(
                f"target {name}, workload {workload.name}: {problem}{where};"
                f" everything needed to look is in {verification.evidence}"
            )
        tables.append(runs_table(workload.name, ran.runs))
        exit_codes.append(ran.runs[0].exit_code)  # all ended with this code
    inputs = HeldOutRuns(target, slim, verification.runs / "held_out", hardware)
    for workload, exit_code in zip(workloads, exit_codes, strict=True):
        for one in inputs.of(workload, exit_code):
            held_out.append(one)
    not_equal = [(one.workload, why) for one in held_out if (why := problem_of_held_out(one))]
    if not_equal:
        shutil.move(verification.runs, verification.evidence)
        moved = str(verification.runs), str(verification.evidence)
        held_out = [replace(one, problem=one.problem.replace(*moved)) for one in held_out]
        (workload_name, _), wrong = not_equal[0], "; ".join(why for _, why in not_equal)
        failed = {"failed_workload": workload_name, "problem": wrong}
        verdict(**failed).write(verification.evidence / "verify.json")
        raise VerificationError(
            f"target {name}, workload {workload_name}: {wrong};"
            f" everything needed to look is in {verification.evidence}"
        )
    not_judged = [f"held_out.{one.name}: {one.problem}" for one in held_out if one.problem]
    if not not_judged:
        remove_tree(verification.runs)
    write_table(destination / "verify_runs.parquet", RUNS, pd.concat(tables, ignore_index=True))
    verdict().write(destination / "verify.json")
    if not_judged:
        raise NotJudgedError(
            f"target {name}: inputs that cannot be judged, as they have to end well and the same"
            " way each time in the original environment: " + "; ".join(not_judged)
        )


@dataclass(frozen=True)
class _Ran:
    """The runs of one workload, and the difference in the slim environment."""

    original: Program
    runs: list[MeasuredRun]
    observed: Observed
    resident: ResidentBytes | None
    problem: str | None
    missed_files: list[str]

    @classmethod
    def of(
        cls, verification: _Verification, workload: Workload, hardware: HardwareModel, repeats: int
    ) -> Self:
        target, slim, libraries = verification.target, verification.slim, verification.libraries
        folder = verification.runs / workload.name
        original = target.program(workload, folder / "original")
        observed = Observed(folder, target.program(workload, folder / "debloated", slim), libraries)
        debloated = observed.program
        runs = measure_interleaved(
            {ORIGINAL: original, DEBLOATED: debloated},
            repeats,
            hardware=hardware,
            log_dir=folder / "logs",
            on_run=observed.note,
        )
        runs = [
            as_in_original(run, debloated, slim, target.root) if run.condition == DEBLOATED else run
            for run in runs
        ]
        elsewhere, after = observed.elsewhere, None
        if observed.unshown and not elsewhere:
            after = follow(debloated, libraries.below(slim), folder / "debloated.files")
            if problem := after.elsewhere(target.root, slim):
                elsewhere = f"{observed.unshown}: {problem}"
        problem = problem_of(workload, original, runs, elsewhere)
        if problem:
            missed = []
            if verification.removed:
                missed = verification.missed(follow(debloated, (), folder / "failed.files"))
            return cls(original, runs, observed, None, problem, missed)
        before = follow(original, libraries.below(target.root), folder / "original.files")
        after = after or follow(debloated, libraries.below(slim), folder / "debloated.files")
        observed.used |= libraries.slim_among(after.mapped)
        observed.note_record("followed")
        problem = observed.elsewhere or problem_beside(before, after, libraries)
        resident = ResidentBytes(before.resident_bytes, after.resident_bytes)
        return cls(original, runs, observed, resident, problem, verification.missed(after))


def _settling_beside(manifest: Path) -> Settling | None:
    path = manifest.parent / "settling.json"
    return Settling.read(path) if path.exists() else None


def _verified(workload: Workload, repeats: int, ran: _Ran, history: RunHistory) -> VerifiedWorkload:
    equal, observed = equal_runs(ran.original, ran.runs), ran.observed
    for calls in observed.calls:
        history.add(workload.name, "as it is", calls)
    return VerifiedWorkload(
        workload=workload.name,
        repeats=repeats,
        equal=equal == repeats,
        equal_runs=equal,
        comparison=workload.output.compare,
        slim_runs=len(observed.calls),
        clean_runs=observed.clean_runs if observed.tells else None,
        libraries=len(observed.used) if observed.tells else None,
        risk=history.risk_of(workload.name) if observed.tells else None,
        ended=_ended(workload, ran.runs),
    )


def _ended(workload: Workload, runs: Sequence[MeasuredRun]) -> str:
    """Return how all runs ended if that was allowed by `ends_with`, else ""."""
    [*codes] = {run.exit_code for run in runs}
    usual = replace(workload, ends_with=None).good_exit_codes
    failed = any(run.failure for run in runs) or len(codes) != 1 or codes[0] in usual
    return "" if failed else f"{ended(codes[0])}, as asked"


def _examine(
    verification: _Verification, workload: Workload, ran: _Ran
) -> tuple[Crash | None, str]:
    """Keep the runs as evidence; return where the program crashes, and the moved problem."""
    evidence = verification.evidence
    shutil.move(verification.runs, evidence)
    crash = None
    if any(_may_have_crashed(run) for run in ran.runs):
        folder = evidence / workload.name
        again = verification.target.program(workload, folder / "diagnosis", verification.slim)
        again = restoring(again, folder / "records/diagnosis.jsonl")
        crash = find_crash(again, evidence, verification.slim, verification.target.root)
    return crash, (ran.problem or "").replace(str(verification.runs), str(evidence))


def _may_have_crashed(run: MeasuredRun) -> bool:
    """Whether a run crashed: a shell returns 128 plus the signal of its command."""
    return run.condition == DEBLOATED and (run.exit_code < 0 or run.exit_code > 128)
