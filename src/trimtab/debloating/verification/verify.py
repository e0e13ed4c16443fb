"""Prove the slim environment: the same output, and what it costs beside the original."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Behaviour, fallback_environment
from trimtab.debloating.targets.base import Target
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.compare import equal_runs, problem_of
from trimtab.debloating.verification.crash import find_crash
from trimtab.errors import TrimtabError
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.from_workload import absolute
from trimtab.profiling.runs.interleave import measure_interleaved
from trimtab.profiling.runs.measured import runs_table
from trimtab.profiling.runs.program import Program
from trimtab.profiling.runs.resident import resident_library_bytes
from trimtab.records.manifest import Manifest
from trimtab.records.removed_calls import read_removed_calls
from trimtab.records.tables import RUNS, write_table
from trimtab.records.verdict import Crash, ResidentBytes, Verdict, VerifiedWorkload


class VerificationError(TrimtabError):
    """A workload does not do in the slim environment what it does in the original."""


@dataclass(frozen=True)
class _Verification:
    """A target, its slim environment, and the folder that the verdict and its evidence go to."""

    target: Target
    slim: Path
    destination: Path

    @property
    def runs(self) -> Path:
        return self.destination / "verification"

    @property
    def evidence(self) -> Path:
        return self.destination / "failure"

    def strict_program(self, workload: Workload, run_folder: Path, record: Path) -> Program:
        """The workload in the slim environment; removed functions it calls go to `record`."""
        program = self.target.program(workload, run_folder, self.slim)
        strict = fallback_environment(program.environment, Behaviour.STRICT, record)
        return replace(program, environment=strict)


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
    the first one in the original, and no removed function may have been called there. Otherwise
    `destination`/failure keeps the runs' output and logs, verify.json there names the functions, or
    where the program died, and VerificationError is raised. Raises UserError when a workload's
    output changes from run to run in the original environment already.
    """
    libraries = Manifest.read(manifest).files
    target, slim = target_of(name, workloads), absolute(environment)
    verification = _Verification(target, slim, destination)
    destination.mkdir(parents=True, exist_ok=True)
    (destination / "verify.json").unlink(missing_ok=True)
    for outdated in (verification.runs, verification.evidence):
        shutil.rmtree(outdated, ignore_errors=True)
    verified: list[VerifiedWorkload] = []
    resident: dict[str, ResidentBytes] = {}
    frames = []
    for workload in workloads:
        folder = verification.runs / workload.name
        record = folder / "removed_calls.jsonl"
        original = target.program(workload, folder / "original")
        debloated = verification.strict_program(workload, folder / "debloated", record)
        programs = {"original": original, "debloated": debloated}
        runs = measure_interleaved(programs, repeats, hardware=hardware, log_dir=folder / "logs")
        equal, calls = equal_runs(original, runs), read_removed_calls(record)
        verified.append(
            VerifiedWorkload(
                workload=workload.name,
                repeats=repeats,
                equal=equal == repeats,
                equal_runs=equal,
                comparison=workload.output.compare,
            )
        )
        problem = problem_of(workload, original, runs, calls)
        if problem:
            crash, problem = _examine(verification, workload, problem)
            Verdict(
                target=name,
                hardware=hardware.name,
                passed=False,
                workloads=verified,
                removed_calls=calls,
                resident_bytes=resident,
                failed_workload=workload.name,
                problem=problem,
                crash=crash,
            ).write(verification.evidence / "verify.json")
            where = f"; {crash}" if crash else ""
            raise VerificationError(
                f"target {name}, workload {workload.name}: {problem}{where};"
                f" everything needed to look is in {verification.evidence}"
            )
        frames.append(runs_table(workload.name, runs))
        resident[workload.name] = ResidentBytes(
            original=resident_library_bytes(original, {target.root / file for file in libraries}),
            debloated=resident_library_bytes(debloated, {slim / file for file in libraries}),
        )
    write_table(destination / "verify_runs.parquet", RUNS, pd.concat(frames, ignore_index=True))
    Verdict(
        target=name,
        hardware=hardware.name,
        passed=True,
        workloads=verified,
        resident_bytes=resident,
    ).write(destination / "verify.json")


def _examine(
    verification: _Verification, workload: Workload, problem: str
) -> tuple[Crash | None, str]:
    """Keep the runs as evidence, and return where the program dies and `problem` with new paths."""
    evidence = verification.evidence
    shutil.move(verification.runs, evidence)
    folder = evidence / workload.name
    again = verification.strict_program(workload, folder / "diagnosis", folder / "diagnosis.jsonl")
    crash = find_crash(again, evidence, verification.slim, verification.target.root)
    return crash, problem.replace(str(verification.runs), str(evidence))
